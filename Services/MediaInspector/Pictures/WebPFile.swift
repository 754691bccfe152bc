/// A WebP file that libvips wrote, without the metadata that its version in Debian 12 adds even where it is told not to.
enum WebPFile {
    private static let headerBytes = 12
    private static let metadata: Set = ["EXIF", "XMP ", "ICCP"]
    /// The flags of the first chunk that announce metadata.
    private static let metadataFlags: UInt8 = 0x20 | 0x08 | 0x04

    static func withoutMetadata(_ file: [UInt8]) -> [UInt8] {
        var result = Array(file.prefix(headerBytes))
        var position = headerBytes
        while position + 8 <= file.count {
            let length = (4..<8).reversed().reduce(0) { $0 << 8 | Int(file[position + $1]) }
            let end = min(file.count, position + 8 + length + length % 2)
            let name = String(decoding: file[position..<position + 4], as: UTF8.self)
            if !metadata.contains(name) {
                result += file[position..<end]
                if name == "VP8X" { result[result.count - (end - position) + 8] &= ~metadataFlags }
            }
            position = end
        }
        for byte in 0..<4 { result[4 + byte] = UInt8(truncatingIfNeeded: (result.count - 8) >> (8 * byte)) }
        return result
    }
}
