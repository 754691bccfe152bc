import Reactor
import TestSupport
import Testing

@testable import Edge

/// A frame as a client sends it. Parts of it can be made wrong.
func clientFrame(
    _ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true, reserved: UInt8 = 0, isMasked: Bool = true,
    lengthForm: Int? = nil
) -> [UInt8] {
    let key: [UInt8] = [0x12, 0xA4, 0x00, 0xFF]
    let form = lengthForm ?? (payload.count < 126 ? 0 : payload.count <= 0xFFFF ? 2 : 8)
    let short = form == 0 ? UInt8(payload.count) : form == 2 ? 126 : 127
    var frame = [(isFinal ? 0x80 : 0) | reserved | opcode, (isMasked ? 0x80 : 0) | short]
    frame += (0..<form).map { UInt8(truncatingIfNeeded: payload.count >> (8 * (form - 1 - $0))) }
    guard isMasked else { return frame + payload }
    return frame + key + payload.enumerated().map { $1 ^ key[$0 % 4] }
}

func clientFrame(_ opcode: UInt8, _ payload: String, isFinal: Bool = true) -> [UInt8] {
    clientFrame(opcode, Array(payload.utf8), isFinal: isFinal)
}

private enum Seen: Equatable {
    case text([UInt8]), ping([UInt8]), pong, close(UInt16?), violation(UInt16)
}

private func decode(_ pieces: [[UInt8]], limit: Int = 70_000) -> [Seen] {
    var decoder = WebSocketDecoder(maximumMessageBytes: limit)
    var seen: [Seen] = []
    for piece in pieces {
        var copy = piece
        do throws(WebSocketViolation) {
            try decode(&copy, &decoder, &seen)
        } catch {
            return seen + [.violation(error.code.rawValue)]
        }
    }
    return seen
}

private func decode(
    _ bytes: inout [UInt8], _ decoder: inout WebSocketDecoder, _ seen: inout [Seen]
) throws(WebSocketViolation) {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { memory.deallocate() }
    memory.copyBytes(from: bytes)
    var input = memory
    while let event = try decoder.next(&input) {
        switch event {
        case .text(let text): seen.append(.text(Array(text)))
        case .ping(let payload): seen.append(.ping(Array(payload)))
        case .pong: seen.append(.pong)
        case .close(let code): seen.append(.close(code?.rawValue))
        }
    }
}

@Suite struct WebSocketDecoderTests {
    private static let long = String(repeating: "äöü€𝄞 ascii ", count: 40)
    private static let huge = [UInt8](repeating: UInt8(ascii: "x"), count: 66_000)

    private static let stream =
        clientFrame(1, "") + clientFrame(1, "hello") + clientFrame(9, "p") + clientFrame(1, long)
        + clientFrame(1, "frag", isFinal: false) + clientFrame(10, "between") + clientFrame(0, "", isFinal: false)
        + clientFrame(0, "ments") + clientFrame(1, [0xE2, 0x82], isFinal: false) + clientFrame(0, [0xAC])
        + clientFrame(1, huge) + clientFrame(8, [0x03, 0xE8] + Array("done".utf8))

    private static let expected: [Seen] = [
        .text([]), .text(Array("hello".utf8)), .ping(Array("p".utf8)), .text(Array(long.utf8)), .pong,
        .text(Array("fragments".utf8)), .text(Array("€".utf8)), .text(huge), .close(1000),
    ]

    @Test("frames that arrive in one piece are separated")
    func onePiece() { #expect(decode([Self.stream]) == Self.expected) }

    @Test("frames that arrive byte by byte give the same events")
    func bytewise() { #expect(decode(Self.stream.map { [$0] }) == Self.expected) }

    @Test("wherever the stream is cut, the same events come out", arguments: UInt64(0)..<60)
    func anyPieces(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        #expect(decode(Self.stream.randomPieces(&random)) == Self.expected)
    }

    @Test(
        "a violation closes with its code",
        arguments: [
            ("not masked", clientFrame(1, Array("a".utf8), isMasked: false), 1002),
            ("RSV1", clientFrame(1, [], reserved: 0x40), 1002),
            ("RSV3", clientFrame(1, [], reserved: 0x10), 1002),
            ("opcode 3", clientFrame(3, []), 1002),
            ("opcode 11", clientFrame(11, []), 1002),
            ("binary", clientFrame(2, [1, 2]), 1003),
            ("fragmented ping", clientFrame(9, [], isFinal: false), 1002),
            ("long ping", clientFrame(9, [UInt8](repeating: 0, count: 126)), 1002),
            ("continuation of nothing", clientFrame(0, "a"), 1002),
            ("message inside a message", clientFrame(1, "a", isFinal: false) + clientFrame(1, "b"), 1002),
            ("length not shortest, 16 bits", clientFrame(1, [65], lengthForm: 2), 1002),
            ("length not shortest, 64 bits", clientFrame(1, [65], lengthForm: 8), 1002),
            ("negative length", [0x81, 0xFF] + [UInt8](repeating: 0xFF, count: 8) + [0, 0, 0, 0], 1002),
            ("bad UTF-8", clientFrame(1, [0xC0, 0x80]), 1007),
            ("surrogate", clientFrame(1, [0xED, 0xA0, 0x80]), 1007),
            ("unfinished UTF-8", clientFrame(1, [0xE2, 0x82]), 1007),
            (
                "bad UTF-8 in a fragment",
                clientFrame(1, [0xE2], isFinal: false) + clientFrame(0, [0x20], isFinal: false), 1007
            ),
            ("close of one byte", clientFrame(8, [3]), 1002),
            ("close with a reserved code", clientFrame(8, [0x03, 0xED]), 1002),
            ("close with code 999", clientFrame(8, [0x03, 0xE7]), 1002),
            ("close with a bad reason", clientFrame(8, [0x03, 0xE8, 0xFF]), 1007),
        ] as [(String, [UInt8], UInt16)])
    func violations(name: String, bytes: [UInt8], code: UInt16) {
        #expect(decode([bytes]) == [.violation(code)], "\(name)")
        #expect(decode(bytes.map { [$0] }) == [.violation(code)], "\(name), byte by byte")
    }

    @Test("a message over the limit is refused by its header alone, in one frame and in fragments")
    func tooBig() {
        let frame = clientFrame(1, [UInt8](repeating: 65, count: 101))
        #expect(decode([Array(frame.prefix(6))], limit: 100) == [.violation(1009)])
        let half = [UInt8](repeating: 65, count: 60)
        let fragments = clientFrame(1, half, isFinal: false) + clientFrame(0, half).prefix(6)
        #expect(decode([fragments], limit: 100) == [.violation(1009)])
        #expect(decode([clientFrame(1, [UInt8](repeating: 65, count: 100))], limit: 100).count == 1)
    }

    @Test("random bytes, and frames with random damage, never trap", arguments: UInt64(0)..<400)
    func damage(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var bytes = Array(Self.stream.prefix(700))
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        let whole = decode([bytes])
        #expect(decode(bytes.randomPieces(&random)) == whole)
        let noise = (0..<300).map { _ in UInt8.random(in: 0...255, using: &random) }
        #expect(decode(noise.randomPieces(&random)) == decode([noise]))
    }
}

@Suite struct UTF8ValidatorTests {
    @Test(
        "pieces of random bytes are valid when Swift's own validation accepts them together", arguments: UInt64(0)..<500
    )
    func random(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        // Bytes from the ends of the table's ranges: random text would hardly ever be valid.
        let borders: [UInt8] = [
            0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF3, 0xF4,
        ]
        let scalars: [UInt8] = Array("aé€𝄞\u{10FFFF}\u{D7FF}".utf8)
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            bytes += Bool.random(using: &random) ? scalars : [borders.randomElement(using: &random)!]
        }
        var validator = UTF8Validator()
        let accepted = bytes.randomPieces(&random).allSatisfy { $0.withUnsafeBytes { validator.accept($0) } }
        #expect((accepted && validator.isComplete) == (String(validating: bytes, as: UTF8.self) != nil))
    }
}

@Suite struct WebSocketFrameTests {
    init() { ReactorThread.start() }

    @Test(
        "a frame has the shortest length and no mask",
        arguments: [
            (0, [0x81, 0]), (125, [0x81, 125]), (126, [0x81, 126, 0, 126]), (65_535, [0x81, 126, 255, 255]),
            (65_536, [0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] as [(Int, [UInt8])])
    func header(length: Int, header: [UInt8]) {
        let payload = [UInt8](repeating: 65, count: length)
        let frame = payload.withUnsafeBytes { WebSocketFrame.text($0) }
        let bytes = Array(UnsafeRawBufferPointer(start: frame.start, count: frame.count))
        #expect(bytes == header + payload)
    }

    @Test("the accept key is that of RFC 6455, 1.3")
    @Reactor func acceptKey() {
        let key = WebSocketHandshake.acceptKey(for: UnsafeRawBufferPointer("dGhlIHNhbXBsZSBub25jZQ=="))
        #expect(String(decoding: key, as: UTF8.self) == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }
}
