/// Whom a message mentions, as the bus and the database have it: user names in the sender's order, with commas between them. Where
/// it mentions everybody, a sign that is nobody's name comes before them.
public enum Mentions {
    public static let everybody = "*"

    /// Returns the names with commas between them, and whether everybody is mentioned.
    public static func split(_ mentions: UnsafeRawBufferPointer) -> (names: Slice<UnsafeRawBufferPointer>, all: Bool) {
        guard mentions.first == UInt8(ascii: "*") else { return (mentions[...], false) }
        return (mentions.dropFirst().drop { $0 == UInt8(ascii: ",") }, true)
    }
}
