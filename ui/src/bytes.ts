// Reading bytes: base64, and the numbers of Go's encoding/binary.

/** Returns the bytes of a base64 text; throws a DOMException for any other text. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const raw = atob(text)
  const b = new Uint8Array(raw.length)
  for (let i = 0; i < raw.length; i++) b[i] = raw.charCodeAt(i)
  return b
}

/** Returns the bytes that raw deflate (RFC 1951) compressed; rejects for other bytes. */
export async function inflate(b: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const plain = new Blob([b]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
  return new Uint8Array(await new Response(plain).arrayBuffer())
}

/**
 * Reads numbers and text from bytes, each read from where the previous one ended. Numbers
 * above 2^53 lose their last digits. A read beyond the end throws an Error.
 */
export class Bytes {
  private at = 0
  constructor(private readonly b: Uint8Array) {}

  end(): boolean {
    return this.at >= this.b.length
  }

  byte(): number {
    if (this.end()) throw new Error('the data are cut short')
    return this.b[this.at++]!
  }

  /** Reads an unsigned number as binary.Uvarint of Go does. */
  uvarint(): number {
    let v = 0
    for (let scale = 1; ; scale *= 128) {
      const x = this.byte()
      v += (x & 127) * scale
      if (x < 128) return v
    }
  }

  /** Reads a signed number as binary.Varint of Go does (zigzag). */
  varint(): number {
    const v = this.uvarint()
    return v % 2 === 0 ? v / 2 : -(v + 1) / 2
  }

  /** Reads UTF-8 text of this length in bytes. */
  text(length: number): string {
    if (this.at + length > this.b.length) throw new Error('the data are cut short')
    return new TextDecoder().decode(this.b.subarray(this.at, (this.at += length)))
  }
}
