import TestSupport

extension [UInt8] {
    /// Cuts the bytes at random positions into pieces of 1 to 40 bytes.
    func randomPieces(_ random: inout SeededRandom) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var rest = self[...]
        while !rest.isEmpty {
            let size = Int.random(in: 1...40, using: &random)
            pieces.append(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        return pieces
    }
}
