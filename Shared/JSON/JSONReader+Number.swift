extension JSONReader {
    /// Consumes digits; nil when there are none.
    mutating func digits() -> Range<Int>? {
        let first = offset
        while offset < count, isDigit(start[offset]) { offset += 1 }
        return first == offset ? nil : first..<offset
    }

    /// Whether the number has leading zeros: `0` is valid, `00` and `01` are not.
    func isZeroPadded(_ digits: Range<Int>) -> Bool {
        digits.count > 1 && start[digits.lowerBound] == UInt8(ascii: "0")
    }

    /// The value of digits; nil on overflow. Accumulates negative numbers, whose range is larger by one.
    func value(of digits: Range<Int>, isNegative: Bool) -> Int64? {
        var value: Int64 = 0
        for position in digits {
            let (product, overflowed) = value.multipliedReportingOverflow(by: 10)
            let (sum, underflowed) = product.subtractingReportingOverflow(Int64(start[position] - UInt8(ascii: "0")))
            if overflowed || underflowed { return nil }
            value = sum
        }
        if isNegative { return value }
        return value == .min ? nil : -value
    }

    /// Consumes number = [ minus ] int [ frac ] [ exp ] (RFC 8259, 6), of any size.
    mutating func skipNumber() throws(JSONError) {
        if byte == UInt8(ascii: "-") { offset += 1 }
        guard let whole = digits() else { throw failure(.expected("a digit")) }
        guard !isZeroPadded(whole) else { throw failure(.expected("a number without leading zeros"), at: offset - 1) }
        if byte == UInt8(ascii: ".") {
            offset += 1
            guard digits() != nil else { throw failure(.expected("a digit")) }
        }
        guard let exponent = byte, exponent | 0x20 == UInt8(ascii: "e") else { return }
        offset += 1
        if let sign = byte, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { offset += 1 }
        guard digits() != nil else { throw failure(.expected("a digit")) }
    }

    private func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
}
