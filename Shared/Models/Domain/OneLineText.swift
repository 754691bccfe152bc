extension Unicode.Scalar {
    /// Whether it may stand in a text of one line that others stand beside, such as a name: no control character, which a
    /// terminal obeys, no end of a line, and none of the embeddings, overrides and isolates (UAX #9), which turn the direction
    /// of what comes after them. The marks that only say to which side a neutral character belongs may stand.
    public var mayStandInOneLine: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: false
        default: true
        }
    }
}
