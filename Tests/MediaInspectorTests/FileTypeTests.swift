import Testing

@testable import MediaInspector

/// What a file is, by its first bytes.
@Suite struct FileTypeTests {
    static func type(_ bytes: [UInt8]) -> String { bytes.withUnsafeBytes { FileType($0).name } }

    static func box(_ brands: String...) -> [UInt8] {
        [0, 0, 0, UInt8(12 + 4 * brands.count)] + Array("ftyp".utf8) + Array(brands[0].utf8) + [0, 0, 0, 0]
            + brands.dropFirst().flatMap { Array($0.utf8) }
    }

    static let known: [(name: String, bytes: [UInt8])] = [
        ("image/jpeg", [0xFF, 0xD8, 0xFF, 0xE0]),
        ("image/png", [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]),
        ("image/gif", Array("GIF89a".utf8)),
        ("image/webp", Array("RIFF\0\0\0\0WEBPVP8 ".utf8)),
        ("image/heic", box("heic", "mif1")),
        ("image/heic", box("mif1", "heic")),
        ("image/avif", box("avif", "mif1")),
        ("image/avif", box("mif1", "miaf", "avif")),
        ("video/mp4", box("isom", "mp41")),
        ("video/mp4", box("XXXX", "mp42")),
        ("video/quicktime", box("qt  ")),
        ("video/quicktime", [0, 0, 0, 8] + Array("wide".utf8)),
        ("video/webm", [0x1A, 0x45, 0xDF, 0xA3, 0x80, 0x42, 0x82, 0x84] + Array("webm".utf8)),
        ("video/x-matroska", [0x1A, 0x45, 0xDF, 0xA3, 0x80, 0x42, 0x82, 0x88] + Array("matroska".utf8)),
        ("audio/mpeg", Array("ID3".utf8)),
        ("audio/mpeg", [0xFF, 0xFB, 0x90, 0x00]),
        ("audio/aac", [0xFF, 0xF1, 0x50, 0x80]),
        ("audio/wav", Array("RIFF\0\0\0\0WAVEfmt ".utf8)),
        ("audio/flac", Array("fLaC".utf8)),
        ("video/ogg", Array("OggS".utf8)),
        ("application/pdf", Array("%PDF-1.7".utf8)),
        ("application/zip", Array("PK\u{3}\u{4}".utf8)),
    ]

    @Test("what is known is known by its first bytes", arguments: known)
    func knownByFirstBytes(name: String, bytes: [UInt8]) { #expect(Self.type(bytes) == name) }

    @Test(
        "what a browser could run, and what nobody knows, is a plain file",
        arguments: [
            "", "x", "<svg xmlns='http://www.w3.org/2000/svg'>", "<!DOCTYPE html>", "<?xml version='1.0'?>",
            "#!/bin/sh",
            "RIFF\0\0\0\0AVI ", "BM", "GIF88a", "\u{FEFF}<html>", "PK",
        ])
    func unknown(text: String) { #expect(Self.type(Array(text.utf8)) == "application/octet-stream") }

    @Test("no beginning of what is known is read beyond its end", arguments: known)
    func cutOff(name: String, bytes: [UInt8]) {
        for length in 0..<bytes.count { _ = Self.type(Array(bytes.prefix(length))) }
    }

    @Test(
        "a box of brands that says it is longer than the file is read to its end",
        arguments: [0, 4, 11, 255] as [UInt8])
    func wrongLength(length: UInt8) {
        var bytes = Self.box("heic", "mif1")
        bytes[3] = length
        #expect(Self.type(bytes) == (length == 255 ? "image/heic" : "application/octet-stream"))
    }
}
