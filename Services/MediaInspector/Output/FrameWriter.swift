import Glibc

/// What the inspector writes on descriptor 1: frames of a tag (one byte), a length (four, big-endian) and that many bytes.
///
/// No frame is longer than 64 KiB: what is, such as a picture, is given in pieces, whose frames have the same tag and follow
/// each other. Without `end` nothing is to be believed.
enum FrameTag: UInt8 {
    /// JSON, one frame, at most 8 KiB.
    case facts = 1
    /// The re-encoded picture. Without any, the file itself is the content.
    case content = 2
    case smallThumbnail = 3
    case largeThumbnail = 4
    case end = 5
}

struct FrameWriter {
    static let pieceBytes = 64 << 10

    /// Takes all of the bytes, or says that nobody takes any.
    let write: (UnsafeRawBufferPointer) -> Bool

    /// Whether it was taken.
    @discardableResult
    func append(_ tag: FrameTag, _ bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = bytes
        repeat {
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.pieceBytes))
            guard appendPiece(tag, piece) else { return false }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(piece.count))
        } while !rest.isEmpty
        return true
    }

    @discardableResult
    func append(_ tag: FrameTag, _ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { append(tag, $0) } }

    private func appendPiece(_ tag: FrameTag, _ bytes: UnsafeRawBufferPointer) -> Bool {
        let length = UInt32(bytes.count)
        let header = [tag.rawValue] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> $0) }
        return header.withUnsafeBytes(write) && write(bytes)
    }

    /// To a pipe, waiting for whoever reads it.
    static func to(descriptor: Int32) -> FrameWriter {
        FrameWriter { bytes in
            var rest = bytes
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                guard count > 0 else { return false }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            }
            return true
        }
    }
}
