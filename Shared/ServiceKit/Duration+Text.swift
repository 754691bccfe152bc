extension Duration {
    /// Parses `250ms`, `5s`, `2m` or `1h`; nil for anything else.
    public init?(text: String) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int64(digits), number <= 1_000_000_000 else { return nil }
        switch text.dropFirst(digits.count) {
        case "ms": self = .milliseconds(number)
        case "s": self = .seconds(number)
        case "m": self = .seconds(number * 60)
        case "h": self = .seconds(number * 3600)
        default: return nil
        }
    }
}
