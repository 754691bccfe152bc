/// How much of a work is done, as a bar and a percentage.
package enum ProgressBar {
    private static let width = 30

    package static func text(_ share: Double) -> String {
        let share = min(max(share, 0), 1)
        let filled = Int(share * Double(width))
        let percent = String(Int(share * 100))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        return "\(bar) \(String(repeating: " ", count: 3 - percent.count))\(percent) %"
    }
}
