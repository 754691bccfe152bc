/// How large a picture may be, all of its frames together. What its header says is compared before anything is decoded.
struct Bounds {
    /// Each frame costs something even where it has few pixels.
    static let frames = 1_000

    let pixels: Int

    func check(width: Int, height: Int, frames: Int) throws(Refusal) {
        guard width > 0, height > 0, frames > 0 else { throw .unreadable }
        let (product, isTooLarge) = width.multipliedReportingOverflow(by: height)
        guard !isTooLarge, product <= pixels, frames <= Self.frames else { throw .tooLarge }
    }
}
