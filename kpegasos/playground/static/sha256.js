/**
 * SHA-256 (FIPS 180-4) of a short text, at once: the browser's own answers later, and only on https.
 */

/** The first primes, from whose roots the constants of the standard are. */
function firstPrimes(count) {
  const primes = [];
  for (let n = 2; primes.length < count; n++) {
    if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  }
  return primes;
}

/** The first 32 bits behind the point of each number. */
function fractionBits(numbers) {
  return Uint32Array.from(numbers, (x) => Math.floor((x - Math.floor(x)) * 2 ** 32));
}

const ROUND_CONSTANTS = fractionBits(firstPrimes(64).map(Math.cbrt));
const INITIAL_HASH = fractionBits(firstPrimes(8).map(Math.sqrt));

function rotateRight(word, by) {
  return (word >>> by) | (word << (32 - by));
}

/** The text as words of whole blocks, ended as the standard says. */
function paddedWords(bytes) {
  const words = new Uint32Array(16 * Math.ceil((bytes.length + 9) / 64));
  [...bytes, 0x80].forEach((byte, k) => (words[k >> 2] |= byte << (24 - 8 * (k & 3))));
  words[words.length - 1] = 8 * bytes.length;
  return words;
}

function digestBlock(hash, block) {
  const w = new Uint32Array(64);
  w.set(block);
  for (let k = 16; k < 64; k++) {
    const near = rotateRight(w[k - 2], 17) ^ rotateRight(w[k - 2], 19) ^ (w[k - 2] >>> 10);
    const far = rotateRight(w[k - 15], 7) ^ rotateRight(w[k - 15], 18) ^ (w[k - 15] >>> 3);
    w[k] = near + w[k - 7] + far + w[k - 16];
  }
  let [a, b, c, d, e, f, g, h] = hash;
  for (let k = 0; k < 64; k++) {
    const ofE = rotateRight(e, 6) ^ rotateRight(e, 11) ^ rotateRight(e, 25);
    const first = (h + ofE + ((e & f) ^ (~e & g)) + ROUND_CONSTANTS[k] + w[k]) | 0;
    const ofA = rotateRight(a, 2) ^ rotateRight(a, 13) ^ rotateRight(a, 22);
    const second = (ofA + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, k) => (hash[k] += word));
}

/**
 * SHA-256 of a text.
 * @param {string} text
 * @returns {Uint8Array} 32 bytes.
 */
export function sha256(text) {
  const words = paddedWords(new TextEncoder().encode(text));
  const hash = INITIAL_HASH.slice();
  for (let k = 0; k < words.length; k += 16) digestBlock(hash, words.subarray(k, k + 16));
  return Uint8Array.from({ length: 32 }, (_, k) => hash[k >> 2] >>> (24 - 8 * (k & 3)));
}
