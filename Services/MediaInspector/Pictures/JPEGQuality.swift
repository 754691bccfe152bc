/// How well a JPEG was compressed, by its table of quantization for luminance: to encode it again better than it was would
/// make it larger, and no better.
enum JPEGQuality {
    static let best = 90
    private static let worst = 60

    /// From 60 to 90, as libjpeg counts. 90 if there is no table to be found.
    static func estimate(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard let sum = sumOfFirstTable(bytes) else { return best }
        // libjpeg multiplies its table, whose sum this is, by `scale` per cent.
        let scale = Double(sum) * 100 / 3_679
        let quality = scale <= 100 ? (200 - scale) / 2 : 5_000 / scale
        return max(worst, min(best, Int(quality.rounded(.up))))
    }

    private static func sumOfFirstTable(_ bytes: UnsafeRawBufferPointer) -> Int? {
        var position = 2
        while position + 4 <= bytes.count, bytes[position] == 0xFF {
            let marker = bytes[position + 1]
            let length = Int(bytes[position + 2]) << 8 | Int(bytes[position + 3])
            if marker == 0xDB, position + 69 <= bytes.count, bytes[position + 4] == 0 {
                return bytes[position + 5..<position + 69].reduce(0) { $0 + Int($1) }
            }
            guard marker != 0xDA else { return nil }
            position += 2 + length
        }
        return nil
    }
}
