// A picture from its ThumbHash, a description of some 25 bytes. After Evan Wallace's description of the format
// (github.com/evanw/thumbhash, MIT), written anew.

export interface Pixels {
  width: number;
  height: number;
  /** RGBA. */
  data: Uint8ClampedArray<ArrayBuffer>;
}

const longest = 32;

/** Undefined for what is no such hash: it comes from outside. */
export function decodeThumbHash(text: string): Pixels | undefined {
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return bytes.length < 5 || bytes.length > 48 ? undefined : new Hash(bytes).pixels();
  } catch {
    return undefined;
  }
}

/** One component: its mean, and the coefficients of a cosine transform. */
interface Channel {
  mean: number;
  columns: number;
  rows: number;
  values: number[];
}

class Hash {
  private nibble = 0;
  private first: number;
  private lightness: Channel;
  private yellow: Channel;
  private red: Channel;
  private opacity?: Channel;
  private ratio: number;

  constructor(private bytes: Uint8Array) {
    const head = bytes[0]! | bytes[1]! << 8 | bytes[2]! << 16;
    const tail = bytes[3]! | bytes[4]! << 8;
    const hasOpacity = head >> 23 === 1;
    const isLandscape = tail >> 15 === 1;
    const [long, short] = [hasOpacity ? 5 : 7, Math.max(3, tail & 7)];
    const [columns, rows] = isLandscape ? [long, short] : [short, long];
    this.ratio = isLandscape ? long / (tail & 7) : (tail & 7) / long;
    this.first = hasOpacity ? 6 : 5;
    const scale = { lightness: (head >> 18 & 31) / 31, yellow: (tail >> 3 & 63) / 63, red: (tail >> 9 & 63) / 63 };
    this.lightness = this.channel((head & 63) / 63, columns, rows, scale.lightness);
    // Colours are described with more contrast, because they are rounded away otherwise.
    this.yellow = this.channel((head >> 6 & 63) / 31.5 - 1, 3, 3, scale.yellow * 1.25);
    this.red = this.channel((head >> 12 & 63) / 31.5 - 1, 3, 3, scale.red * 1.25);
    if (hasOpacity) this.opacity = this.channel((bytes[5]! & 15) / 15, 5, 5, (bytes[5]! >> 4) / 15);
  }

  /** The coefficients of the upper left triangle, without the mean: half a byte each. */
  private channel(mean: number, columns: number, rows: number, scale: number): Channel {
    const values: number[] = [];
    for (let row = 0; row < rows; row++) {
      for (let column = row ? 0 : 1; column * rows < columns * (rows - row); column++) {
        const byte = this.bytes[this.first + (this.nibble >> 1)];
        if (byte === undefined) throw new RangeError("the hash is too short");
        values.push(((byte >> (this.nibble++ & 1) * 4 & 15) / 7.5 - 1) * scale);
      }
    }
    return { mean, columns, rows, values };
  }

  pixels(): Pixels {
    const width = Math.max(1, Math.round(this.ratio > 1 ? longest : longest * this.ratio));
    const height = Math.max(1, Math.round(this.ratio > 1 ? longest / this.ratio : longest));
    const data = new Uint8ClampedArray(width * height * 4);
    const channels = [this.lightness, this.yellow, this.red];
    for (let y = 0, place = 0; y < height; y++) {
      for (let x = 0; x < width; x++, place += 4) {
        const at: [number, number] = [(x + 0.5) / width, (y + 0.5) / height];
        const [lightness, yellow, red] = channels.map((channel) => valueAt(channel, ...at)) as [number, number, number];
        const blue = lightness - 2 / 3 * yellow;
        const strong = (3 * lightness - blue + red) / 2;
        const opacity = this.opacity ? valueAt(this.opacity, ...at) : 1;
        data.set([strong, strong - red, blue, opacity].map((part) => 255 * Math.min(1, Math.max(0, part))), place);
      }
    }
    return { width, height, data };
  }
}

function valueAt({ mean, columns, rows, values }: Channel, x: number, y: number): number {
  let value = mean;
  for (let row = 0, index = 0; row < rows; row++) {
    const vertical = 2 * Math.cos(Math.PI * y * row);
    for (let column = row ? 0 : 1; column * rows < columns * (rows - row); column++) {
      value += values[index++]! * Math.cos(Math.PI * x * column) * vertical;
    }
  }
  return value;
}
