/**
 * The generator behind NumPy's RandomState: MT19937 (Matsumoto, Nishimura 1998), seeded by a number.
 */

const MT_SIZE = 624;
const MT_SHIFT = 397;

/** Random numbers as NumPy's legacy generator draws them. */
export class MersenneTwister {
  /** @param {number} seed Whole, from 0 to 2^32 - 1. */
  constructor(seed) {
    const words = new Uint32Array(MT_SIZE);
    words[0] = seed;
    for (let k = 1; k < MT_SIZE; k++) {
      words[k] = Math.imul(1812433253, words[k - 1] ^ (words[k - 1] >>> 30)) + k;
    }
    this.words = words;
    this.position = MT_SIZE;
    this.spareNormal = null;
  }

  /** 32 random bits. @returns {number} */
  bits() {
    if (this.position === MT_SIZE) this.refill();
    let y = this.words[this.position++];
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  }

  refill() {
    const { words } = this;
    for (let k = 0; k < MT_SIZE; k++) {
      const y = (words[k] & 0x80000000) | (words[(k + 1) % MT_SIZE] & 0x7fffffff);
      words[k] = words[(k + MT_SHIFT) % MT_SIZE] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
    }
    this.position = 0;
  }

  /** A whole number from 0 to `most`. @param {number} most Below 2^32. @returns {number} */
  whole(most) {
    if (most === 0) return 0;
    const mask = 2 ** (32 - Math.clz32(most)) - 1;
    for (;;) {
      const drawn = (this.bits() & mask) >>> 0;
      if (drawn <= most) return drawn;
    }
  }

  /** A number in [0, 1), with 53 random bits. @returns {number} */
  uniform() {
    const high = this.bits() >>> 5;
    return (high * 67108864 + (this.bits() >>> 6)) / 9007199254740992;
  }

  /** A normal number, by Marsaglia's polar method, which makes two at a time. @returns {number} */
  normal() {
    if (this.spareNormal !== null) {
      const spare = this.spareNormal;
      this.spareNormal = null;
      return spare;
    }
    for (;;) {
      const x = 2 * this.uniform() - 1;
      const y = 2 * this.uniform() - 1;
      const square = x * x + y * y;
      if (square >= 1 || square === 0) continue;
      const factor = Math.sqrt((-2 * Math.log(square)) / square);
      this.spareNormal = factor * x;
      return factor * y;
    }
  }

  /** The numbers below a number, in random order. @param {number} count @returns {number[]} */
  permutation(count) {
    const order = Array.from({ length: count }, (_, k) => k);
    for (let k = count - 1; k > 0; k--) {
      const other = this.whole(k);
      [order[k], order[other]] = [order[other], order[k]];
    }
    return order;
  }
}

/**
 * The seed that kpegasos draws from a `random_state`.
 * @param {number} randomState
 * @returns {number}
 */
export function seedOf(randomState) {
  return new MersenneTwister(randomState).whole(2 ** 31 - 2);
}
