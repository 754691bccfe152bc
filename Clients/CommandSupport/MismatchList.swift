/// Unexpected results. All are counted, and the first few are kept.
package struct MismatchList: Sendable {
    package private(set) var count = 0
    package private(set) var samples: [String] = []

    private static let kept = 10

    package init() {}

    package mutating func add(_ text: String) {
        count += 1
        if samples.count < Self.kept { samples.append(text) }
    }

    /// Counts more mismatches of a kind already listed.
    package mutating func add(count more: Int) { count += more }

    package mutating func add(_ other: MismatchList) {
        count += other.count
        samples += other.samples.prefix(max(0, Self.kept - samples.count))
    }
}
