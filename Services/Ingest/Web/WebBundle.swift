import CCrypto

/// One file of the web client: where it is served, and its bytes as they are and compressed with gzip.
struct WebFile: Sendable {
    let path: StaticString
    let type: StaticString
    let content: [UInt8]
    /// Empty: it is served uncompressed.
    let gzip: [UInt8]
}

/// The files of the web client in this executable.
///
/// `Clients/web/build` compiles the client and writes them into `WebBundle+Files.swift`, which is not committed. Without
/// it the executable is built all the same and has no page: the default below applies.
enum WebBundle: WebFiles {
    /// The bytes of a file, which stand in the source as Base64 (RFC 4648): the compiler takes a second for a string and
    /// minutes for as many numbers.
    static func bytes(_ text: StaticString) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: text.utf8CodeUnitCount / 4 * 3)
        let count = EVP_DecodeBlock(&bytes, text.utf8Start, CInt(text.utf8CodeUnitCount))
        precondition(count == bytes.count, "Clients/web/build wrote something else than Base64")
        // libcrypto counts the padding, too.
        let text = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        bytes.removeLast(text.suffix(2).count { $0 == UInt8(ascii: "=") })
        return bytes
    }
}

protocol WebFiles {
    static var files: [WebFile] { get }
}

extension WebFiles {
    static var files: [WebFile] { [] }
}
