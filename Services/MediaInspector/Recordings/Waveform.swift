/// The loudness of a recording, as 64 peaks: 0 is silence, 255 the loudest that the format can say.
///
/// How long the recording is may be known at its end alone, so peaks are kept in steps of time that double when there are too
/// many of them.
struct Waveform {
    static let values = 64
    private static let steps = 4_096

    private var stepMilliseconds = 1
    private var peaks = [Float](repeating: 0, count: steps)
    private(set) var isEmpty = true

    /// What was heard at that time, from 0 to 1.
    mutating func add(_ peak: Float, at milliseconds: Int) {
        guard milliseconds >= 0, peak.isFinite else { return }
        while milliseconds / stepMilliseconds >= Self.steps { halve() }
        let step = milliseconds / stepMilliseconds
        peaks[step] = max(peaks[step], peak)
        isEmpty = false
    }

    private mutating func halve() {
        for step in 0..<Self.steps / 2 { peaks[step] = max(peaks[2 * step], peaks[2 * step + 1]) }
        for step in Self.steps / 2..<Self.steps { peaks[step] = 0 }
        stepMilliseconds *= 2
    }

    func values(ofMilliseconds total: Int) -> [UInt8] {
        let used = min(Self.steps, max(1, (total + stepMilliseconds - 1) / stepMilliseconds))
        return (0..<Self.values).map { value in
            let first = value * used / Self.values
            let next = max(first + 1, (value + 1) * used / Self.values)
            let peak = peaks[first..<min(next, Self.steps)].max() ?? 0
            return UInt8((min(1, peak) * 255).rounded())
        }
    }
}
