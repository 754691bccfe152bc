import Bytes
import Edge
import Models
import ServiceKit

/// The header fields of tus 1.0.0 (tus.io/protocols/resumable-upload), read and checked.
enum Tus {
    static let version: StaticString = "1.0.0"
    static let extensions = "creation,creation-with-upload,termination,checksum,expiration"
    static let algorithms = "sha256,sha1"
    /// The most that `Upload-Metadata` may have.
    static let metadataBytes = 2 * 1024

    /// `Upload-Length` or `Upload-Offset`: digits and nothing else.
    static func number(_ field: UnsafeRawBufferPointer) -> Int64? {
        guard (1...18).contains(field.count) else { return nil }
        var number: Int64 = 0
        for byte in field {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            number = number * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        return number
    }
}

/// `Upload-Checksum`: the algorithm and the digest of a request's body.
struct UploadChecksum: Equatable, Sendable {
    let algorithm: ContentDigest.Algorithm
    let digest: [UInt8]

    enum Failure: Error, Equatable { case unknownAlgorithm, malformed }

    init(_ field: UnsafeRawBufferPointer) throws(Failure) {
        guard let space = field.position(of: UInt8(ascii: " ")) else { throw .malformed }
        switch field.part(0, space) {
        case let name where name.isEqual(to: "sha256"): algorithm = .sha256
        case let name where name.isEqual(to: "sha1"): algorithm = .sha1
        default: throw .unknownAlgorithm
        }
        guard let digest = Base64.decode(field.part(space + 1, field.count)), digest.count == algorithm.byteCount else {
            throw .malformed
        }
        self.digest = digest
    }
}

/// `Upload-Metadata`: keys and values in base64, of which the file's name is used.
struct UploadMetadata: Equatable, Sendable {
    /// As it was sent, to be sent back.
    let text: String
    let name: String

    static let none = UploadMetadata(text: "", name: defaultName)
    static let defaultName = "file"

    private init(text: String, name: String) {
        self.text = text
        self.name = name
    }

    init(_ field: UnsafeRawBufferPointer) throws(Problem) {
        guard field.count <= Tus.metadataBytes else {
            throw Problem(.invalid, "Upload-Metadata: must be at most \(Tus.metadataBytes) bytes")
        }
        guard field.allSatisfy({ (0x20..<0x7F).contains($0) }) else { throw Self.malformed }
        var name: String?
        var keys: Set<[UInt8]> = []
        for pair in ByteFields(field, separator: UInt8(ascii: ",")) where !field.isEmpty {
            let (key, value) = try Self.pair(pair)
            guard keys.insert(Array(key)).inserted else { throw Self.malformed }
            if key.isEqual(to: "filename") { name = try Self.fileName(value) }
        }
        text = String(decoding: field, as: UTF8.self)
        self.name = name ?? Self.defaultName
    }

    private static let malformed = Problem(
        .invalid, "Upload-Metadata: must be keys and values in base64, with commas between the pairs")

    private static func pair(
        _ pair: UnsafeRawBufferPointer
    ) throws(Problem) -> (key: UnsafeRawBufferPointer, value: [UInt8]) {
        // Clients put spaces behind the commas.
        let trimmed = UnsafeRawBufferPointer(rebasing: pair.drop { $0 == UInt8(ascii: " ") })
        let space = trimmed.position(of: UInt8(ascii: " ")) ?? trimmed.count
        let key = trimmed.part(0, space), value = trimmed.part(min(space + 1, trimmed.count), trimmed.count)
        guard !key.isEmpty, let bytes = Base64.decode(value) else { throw malformed }
        return (key, bytes)
    }

    /// The last component of a path, without what may not stand in one line.
    private static func fileName(_ bytes: [UInt8]) throws(Problem) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Problem(.invalid, "Upload-Metadata: filename must be UTF-8")
        }
        let last = text.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last.map(String.init) ?? ""
        let name = String(String.UnicodeScalarView(last.unicodeScalars.filter(\.mayStandInOneLine)))
        guard name.utf8.count <= ContractLimits.mediaNameBytes else {
            throw Problem(.invalid, "Upload-Metadata: filename must be at most \(ContractLimits.mediaNameBytes) bytes")
        }
        return name.isEmpty || name == "." || name == ".." ? defaultName : name
    }
}
