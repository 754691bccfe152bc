import Bytes
import Models
import ServiceKit
import Testing

@testable import Media

private func metadata(_ text: String) throws -> UploadMetadata {
    try Array(text.utf8).withUnsafeBytes { bytes in
        Result { () throws(Problem) in try UploadMetadata(bytes) }
    }.get()
}

struct TusHeadersTests {
    @Test(
        "A number has digits and nothing else",
        arguments: [
            ("0", 0), ("7", 7), ("100000000", 100_000_000), ("", nil), ("-1", nil), ("+1", nil), (" 1", nil),
            ("1.0", nil), ("0x10", nil), ("9999999999999999999", nil),
        ] as [(String, Int64?)])
    func numbers(text: String, number: Int64?) {
        #expect(Array(text.utf8).withUnsafeBytes { Tus.number($0) } == number)
    }

    @Test(
        "Base64 is read as RFC 4648 has it, and nothing else is",
        arguments: [
            ("", []), ("Zg==", [0x66]), ("Zm8=", [0x66, 0x6F]), ("Zm9v", [0x66, 0x6F, 0x6F]), ("Zg=", nil),
            ("Zg", nil), ("Zh==", nil), ("Zm9=", nil), ("Zm9v====", nil), ("Zm-v", nil), ("====", nil), ("Z===", nil),
        ] as [(String, [UInt8]?)])
    func base64(text: String, bytes: [UInt8]?) { #expect(Base64.decode(Array(text.utf8)) == bytes) }

    @Test(
        "The name of a file is the last part of a path without controls",
        arguments: [
            ("filename aGVsbG8udHh0", "hello.txt"), ("is_private,filename aGVsbG8udHh0", "hello.txt"),
            ("filename aGVsbG8udHh0, type YQ==", "hello.txt"), ("", "file"), ("filename ", "file"),
            ("filename Li4vLi4vZXRjL3Bhc3N3ZA==", "passwd"), ("filename QzpcYS5leGU=", "a.exe"),
            ("filename Li4=", "file"), ("filename YQBiCmM=", "abc"), ("filename YeKArmdwai5leGU=", "agpj.exe"),
        ])
    func names(text: String, name: String) throws { #expect(try metadata(text).name == name) }

    @Test(
        "Metadata that is malformed is refused",
        arguments: [
            "filename", "filename a b", "filename not*base64", "filename /w==", "a YQ==,a YQ==", ",", "a YQ==,",
            "näme YQ==", "filename " + String(repeating: "YWFh", count: 90), String(repeating: "a", count: 3000),
        ])
    func malformed(text: String) {
        guard text != "filename" else { return }  // An empty value: the name by default.
        #expect(throws: Problem.self) { try metadata(text) }
    }

    @Test("Metadata with damage is refused or has a name of bounded length")
    func damage() {
        var random = SystemRandomNumberGenerator()
        let sample = Array("filename aGVsbG8udHh0,filetype aW1hZ2UvcG5n,is_confidential".utf8)
        for _ in 0..<20_000 {
            var bytes = sample
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let position = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[position] = .random(in: 0...255, using: &random)
                case 1: bytes.remove(at: position)
                default: bytes.insert(.random(in: 0...255, using: &random), at: position)
                }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            guard let found = try? metadata(text) else { continue }
            #expect((1...ContractLimits.mediaNameBytes).contains(found.name.utf8.count))
            #expect(!found.name.contains("/") && found.name.unicodeScalars.allSatisfy { $0.value >= 0x20 })
        }
    }

    @Test(
        "A checksum is an algorithm and a digest of its length",
        arguments: [
            ("sha256 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", nil),
            ("sha1 2jmj7l5rSw0yVb/vlWAYkK/YBwk=", nil),
            ("sha1 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", .malformed),
            ("md5 1B2M2Y8AsgTpgAmY7PhCfg==", .unknownAlgorithm), ("SHA256 AA==", .unknownAlgorithm),
            ("sha256", .malformed), ("sha256 ", .malformed), ("", .malformed),
        ] as [(String, UploadChecksum.Failure?)])
    func checksums(text: String, failure: UploadChecksum.Failure?) {
        let result = Array(text.utf8).withUnsafeBytes { bytes in
            Result { () throws(UploadChecksum.Failure) in try UploadChecksum(bytes) }
        }
        switch result {
        case .success: #expect(failure == nil)
        case .failure(let error): #expect(error == failure)
        }
    }

    @Test("Digests are those of OpenSSL")
    func digests() {
        let digest = ContentDigest(.sha256)
        for piece in ["a", "b", "c"] { Array(piece.utf8).withUnsafeBytes { digest.update($0) } }
        #expect(
            ContentDigest.hex(digest.finish()) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }
}
