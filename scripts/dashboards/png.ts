import { crc32, deflateSync, inflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const MOST_COLORS = 256
/** Bytes of a pixel: red, green, blue. */
const PIXEL = 3

/** A picture, three bytes a pixel. */
interface Picture {
  readonly width: number
  readonly height: number
  readonly pixels: Buffer
}

/** The same picture with a palette of 256 colours, which takes a third of the bytes. Takes what Chromium writes: eight bits, no alpha. */
export function withPalette(png: Buffer): Buffer {
  const picture = decode(png)
  const palette = paletteOf(picture)
  const indexes = indexed(picture, palette)
  const header = Buffer.alloc(13)
  header.writeUInt32BE(picture.width, 0)
  header.writeUInt32BE(picture.height, 4)
  header.set([8, 3, 0, 0, 0], 8)
  const colors = Buffer.from(
    palette.flatMap((color) => [color >> 16, (color >> 8) & 255, color & 255]),
  )
  const body = deflateSync(indexes, { level: 9, memLevel: 9 })
  const chunks = [chunk('IHDR', header), chunk('PLTE', colors), chunk('IDAT', body)]
  return Buffer.concat([SIGNATURE, ...chunks, chunk('IEND', Buffer.alloc(0))])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const around = Buffer.alloc(8)
  around.writeUInt32BE(data.length, 0)
  around.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([around.subarray(0, 4), body, around.subarray(4)])
}

function decode(png: Buffer): Picture {
  const data: Buffer[] = []
  let [width, height] = [0, 0]
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at)
    const type = png.toString('latin1', at + 4, at + 8)
    const body = png.subarray(at + 8, at + 8 + length)
    if (type === 'IHDR') {
      ;[width, height] = [body.readUInt32BE(0), body.readUInt32BE(4)]
      const [depth, kind, , , interlace] = body.subarray(8)
      if (depth !== 8 || kind !== 2 || interlace !== 0)
        throw new Error('not the PNG that is expected')
    }
    if (type === 'IDAT') data.push(body)
    at += length + 12
  }
  return { width, height, pixels: unfiltered(inflateSync(Buffer.concat(data)), width, height) }
}

/** Takes the filter off each line: every byte is told as its difference to what its neighbours foretell. */
function unfiltered(lines: Buffer, width: number, height: number): Buffer {
  const stride = width * PIXEL
  const pixels = Buffer.alloc(stride * height)
  let above = Buffer.alloc(stride)
  for (let y = 0; y < height; y++) {
    const line = pixels.subarray(y * stride, (y + 1) * stride)
    const filter = lines[y * (stride + 1)] ?? 0
    lines.copy(line, 0, y * (stride + 1) + 1, (y + 1) * (stride + 1))
    unfilter(line, above, filter)
    above = line
  }
  return pixels
}

function unfilter(line: Buffer, above: Buffer, filter: number): void {
  const foretell = FILTERS[filter]
  if (foretell === undefined) throw new Error(`no filter ${filter} in PNG`)
  for (let x = 0; x < line.length; x++) {
    const left = line[x - PIXEL] ?? 0
    const corner = above[x - PIXEL] ?? 0
    line[x] = (line[x] ?? 0) + foretell(left, above[x] ?? 0, corner)
  }
}

const FILTERS: readonly ((left: number, up: number, corner: number) => number)[] = [
  () => 0,
  (left) => left,
  (_, up) => up,
  (left, up) => (left + up) >> 1,
  paeth,
]

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)]
  if (a <= b && a <= c) return left
  return b <= c ? up : corner
}

/** The commonest colours, most of them shades of letters and lines. */
function paletteOf({ pixels }: Picture): readonly number[] {
  const counts = new Map<number, number>()
  for (let at = 0; at < pixels.length; at += PIXEL) {
    const color = pixels.readUIntBE(at, PIXEL)
    counts.set(color, (counts.get(color) ?? 0) + 1)
  }
  const commonest = [...counts].sort((a, b) => b[1] - a[1]).slice(0, MOST_COLORS)
  return commonest.map(([color]) => color)
}

function indexed({ width, height, pixels }: Picture, palette: readonly number[]): Buffer {
  const known = new Map(palette.map((color, index) => [color, index]))
  const lines = Buffer.alloc((width + 1) * height)
  for (let at = 0; at < width * height; at++) {
    const color = pixels.readUIntBE(at * PIXEL, PIXEL)
    const index = known.get(color) ?? nearest(color, palette)
    known.set(color, index)
    lines[at + Math.floor(at / width) + 1] = index
  }
  return lines
}

function nearest(color: number, palette: readonly number[]): number {
  let best = 0
  let least = Infinity
  for (const [index, other] of palette.entries()) {
    const far = distance(color, other)
    if (far < least) [best, least] = [index, far]
  }
  return best
}

function distance(a: number, b: number): number {
  const red = (a >> 16) - (b >> 16)
  const green = ((a >> 8) & 255) - ((b >> 8) & 255)
  const blue = (a & 255) - (b & 255)
  return red * red + green * green + blue * blue
}
