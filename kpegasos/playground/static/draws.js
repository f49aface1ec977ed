/**
 * The index stream: which example is drawn when, draw by draw that of kpegasos.
 *
 * Epoch e of a stream is a function of (seed, pair, e) alone, so that a run can be cut anywhere.
 * Draws come from SplitMix64 (Steele, Lea, Flood 2014), here in two halves of 32 bits.
 */
import { sha256 } from "./sha256.js";

/** Increment and factors of SplitMix64: upper and lower half. */
const MIX_STEP = [0x9e3779b9, 0x7f4a7c15];
const MIX_FIRST = [0xbf58476d, 0x1ce4e5b9];
const MIX_SECOND = [0x94d049bb, 0x133111eb];

/** A number of 64 bits that is changed in place. */
class Word64 {
  constructor(high, low) {
    this.high = high | 0;
    this.low = low | 0;
  }

  add([high, low]) {
    const sum = (this.low >>> 0) + (low >>> 0);
    this.high = (this.high + high + (sum > 0xffffffff ? 1 : 0)) | 0;
    this.low = sum | 0;
  }

  xor(high, low) {
    this.high ^= high;
    this.low ^= low;
  }

  /** XOR with itself moved to the right, by less than 32 bits. */
  fold(by) {
    this.xor(this.high >>> by, (this.high << (32 - by)) | (this.low >>> by));
  }

  multiply([high, low]) {
    const [a, b] = [this.low & 0xffff, this.low >>> 16];
    const [c, d] = [low & 0xffff, low >>> 16];
    const middle = a * d + b * c + ((a * c) >>> 16);
    const carried = b * d + Math.floor(middle / 65536);
    this.high = (Math.imul(this.high, low) + Math.imul(this.low, high) + carried) | 0;
    this.low = Math.imul(this.low, low);
  }

  /** Make it the output of SplitMix64 in this state. */
  mix() {
    this.fold(30);
    this.multiply(MIX_FIRST);
    this.fold(27);
    this.multiply(MIX_SECOND);
    this.fold(31);
  }
}

/** Endless stream of example indices. */
export class IndexStream {
  /**
   * @param {number} nSamples Indices are below this; at most 2048.
   * @param {"permutation"|"uniform"} sampling
   * @param {number} seed From `seedOf`.
   * @param {number|null} pair Number of the pair of classes; null for the only one.
   */
  constructor(nSamples, sampling, seed, pair) {
    const digest = new DataView(sha256(`(${seed},${pair === null ? "" : ` ${pair}`})`).buffer);
    this.key = [digest.getUint32(4, true), digest.getUint32(0, true)];
    this.nSamples = nSamples;
    this.isUniform = sampling === "uniform";
    this.draws = new Int32Array(nSamples);
    this.begin = -1;
  }

  /** The draw at a position of the stream. @param {number} position @returns {number} */
  at(position) {
    const within = position - this.begin;
    if (this.begin >= 0 && within >= 0 && within < this.nSamples) return this.draws[within];
    const number = Math.floor(position / this.nSamples);
    this.begin = number * this.nSamples;
    this.fillEpoch(number);
    return this.draws[position - this.begin];
  }

  fillEpoch(number) {
    const { draws, isUniform, nSamples } = this;
    const state = new Word64(Math.floor(number / 2 ** 32), number);
    state.multiply(MIX_STEP);
    state.mix();
    state.xor(...this.key);
    state.mix();
    const output = new Word64(0, 0);
    for (let i = 0; i < nSamples; i++) {
      state.add(MIX_STEP);
      output.high = state.high;
      output.low = state.low;
      output.mix();
      const j = Math.floor(((output.high >>> 0) * (isUniform ? nSamples : i + 1)) / 2 ** 32);
      draws[i] = isUniform ? j : draws[j];
      if (!isUniform) draws[j] = i;
    }
  }
}
