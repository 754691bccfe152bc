/// Formats a number with this many decimals: `1234.5` as "1234.50".
package func rounded(_ number: Double, _ decimals: Int) -> String {
    let scale = (0..<decimals).reduce(1) { scale, _ in scale * 10 }
    let units = Int((number * Double(scale)).rounded())
    let fraction = String(units.magnitude % scale.magnitude)
    let whole = "\(units < 0 ? "-" : "")\(units.magnitude / scale.magnitude)"
    return decimals == 0 ? whole : "\(whole).\(String(repeating: "0", count: decimals - fraction.count))\(fraction)"
}

/// Formats 37926 as "37,926".
package func grouped(_ number: Int) -> String {
    var digits = String(number.magnitude)
    var groups: [String] = []
    while digits.count > 3 {
        groups.insert(String(digits.suffix(3)), at: 0)
        digits.removeLast(3)
    }
    return (number < 0 ? "-" : "") + ([digits] + groups).joined(separator: ",")
}
