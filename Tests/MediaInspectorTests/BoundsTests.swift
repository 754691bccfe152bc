import Testing

@testable import MediaInspector

@Suite struct BoundsTests {
    static func refusal(_ width: Int, _ height: Int, _ frames: Int) -> Refusal? {
        do throws(Refusal) {
            try Bounds(pixels: 64_000_000).check(width: width, height: height, frames: frames)
            return nil
        } catch { return error }
    }

    @Test(
        "a picture has at most 64 megapixels and a thousand frames",
        arguments: [
            (8_000, 8_000, 1, nil), (8_000, 8_001, 1, .tooLarge), (65_535, 65_535, 1, .tooLarge),
            (1, 1_000, 1_000, nil),
            (1, 1_001, 1_001, .tooLarge), (.max, .max, 1, .tooLarge), (0, 1, 1, .unreadable), (1, 1, 0, .unreadable),
        ] as [(Int, Int, Int, Refusal?)])
    func bounds(width: Int, height: Int, frames: Int, refusal: Refusal?) {
        #expect(Self.refusal(width, height, frames) == refusal)
    }

    @Test("the command line sets the limits")
    func arguments() {
        let arguments = Arguments(["--megapixels", "2", "--seconds", "3", "--memory", "4M", "--serve"])
        #expect(arguments?.pixels == 2_000_000)
        #expect(arguments?.limits.seconds == 3)
        #expect(arguments?.limits.memoryBytes == 4 << 20)
        #expect(arguments?.isServer == true)
    }

    @Test(
        "a command line that cannot be understood is refused",
        arguments: [
            ["--memory"], ["--memory", "M"], ["--seconds", "0"], ["--megapixels", "-1"], ["file.jpg"], ["--x", "1"],
        ])
    func misunderstood(words: [String]) { #expect(Arguments(words) == nil) }

    /// A table of libjpeg's for `quality`, by its sum: only that is looked at.
    static func jpeg(sum: Int) -> [UInt8] {
        let each = UInt8(sum / 64)
        let rest = UInt8(sum % 64)
        return [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 0, 0, 0xFF, 0xDB, 0, 67, 0]
            + (0..<64).map { each + ($0 == 0 ? rest : 0) } + [0xFF, 0xDA, 0, 2]
    }

    @Test(
        "a JPEG is not encoded better than it was",
        arguments: [(3_679, 50 + 10), (1_472, 80), (736, 90), (64, 90)])
    func quality(sum: Int, quality: Int) {
        #expect(Self.jpeg(sum: sum).withUnsafeBytes(JPEGQuality.estimate) == quality)
    }

    @Test("a JPEG without a table counts as a good one")
    func noTable() {
        for bytes in [[0xFF, 0xD8, 0xFF], [0xFF, 0xD8, 0xFF, 0xDB, 0, 67], [0xFF, 0xD8, 0xFF, 0xE0, 0, 0, 1]]
            as [[UInt8]]
        {
            #expect(bytes.withUnsafeBytes(JPEGQuality.estimate) == 90)
        }
    }
}
