import Bytes
import Models
import TestSupport
import Testing
import Wire

@Suite struct FrameTests {
    static let origin = Instance(0x0102_0304_0506_0708)

    static func frame(_ topic: Topic, _ entries: [[UInt8]]) -> [UInt8] {
        var writer = FrameWriter(topic: topic, origin: origin)
        for entry in entries { writer.append { $0.append(entry) } }
        return Array(writer.bytes)
    }

    static func decode(_ bytes: [UInt8]) throws -> (topic: Topic, origin: Instance, entries: [[UInt8]]) {
        try bytes.withUnsafeBytes { bytes in
            let reader = try FrameReader(bytes)
            return (reader.topic, reader.origin, reader.entries.map(Array.init))
        }
    }

    static let everyTopic: [Topic] =
        SlotGroup.all.flatMap { group -> [Topic] in
            [
                .command(group), .receiptCommand(group), .change(group), .privateChange(group), .status(group),
                .digest(group), .receiptDigest(group), .ephemeral(group), .erasure(group), .revocation(group),
                .mediaCommand(group), .served(group),
            ]
        } + [.response(Instance(0)), .response(Instance(.max))]

    @Test("a frame of changes has exactly these bytes")
    func goldenGroupFrame() {
        let bytes = Self.frame(.change(SlotGroup(0xA)), [[0xFF], [], [1, 2]])
        #expect(
            bytes == [
                0x4D, 0x0A, 0x01, 1, 2, 3, 4, 5, 6, 7, 8,
                0, 0, 0, 1, 0xFF, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2,
            ])
    }

    @Test("a frame of responses is addressed to its instance")
    func goldenAnswerFrame() {
        let bytes = Self.frame(.response(Instance(0xF1F2_F3F4_F5F6_F7F8)), [[9]])
        #expect(
            bytes == [
                0x41, 0xF1, 0xF2, 0xF3, 0xF4, 0xF5, 0xF6, 0xF7, 0xF8, 0x01, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 1, 9,
            ])
    }

    @Test("every topic reads back", arguments: everyTopic)
    func roundTrip(topic: Topic) throws {
        let decoded = try Self.decode(Self.frame(topic, [[1], [2, 3]]))
        #expect(decoded.topic == topic)
        #expect(decoded.origin == Self.origin)
        #expect(decoded.entries == [[1], [2, 3]])
    }

    @Test("topics of groups have indices without gaps, responses none")
    func indices() {
        #expect(Self.everyTopic.compactMap(\.index).sorted() == Array(0..<Topic.indexedCount))
        #expect(Topic.response(Instance(1)).index == nil)
    }

    @Test("no topic is a prefix of another, since subscriptions match by prefix")
    func prefixes() {
        let encoded = Self.everyTopic.map { topic -> [UInt8] in
            var buffer = ByteBuffer()
            topic.encode(into: &buffer)
            return buffer.array
        }
        for (index, one) in encoded.enumerated() {
            for (other, two) in encoded.enumerated() where index != other { #expect(!two.starts(with: one)) }
        }
    }

    @Test("a frame cut inside an entry or its header is refused as a whole")
    func truncated() {
        let bytes = Self.frame(.command(SlotGroup(3)), [[1, 2, 3], [4, 5]])
        let whole = [11, 18, 24]  // Cut between entries it is a valid shorter frame: it has no count.
        for count in 0..<bytes.count where !whole.contains(count) {
            #expect(throws: FrameError.truncated) { try Self.decode(Array(bytes[..<count])) }
        }
    }

    @Test("an unknown version or topic is refused")
    func unknown() {
        var bytes = Self.frame(.command(SlotGroup(3)), [[1]])
        bytes[2] = 2
        #expect(throws: FrameError.unknownVersion(2)) { try Self.decode(bytes) }
        bytes[1] = 16
        #expect(throws: FrameError.unknownTopic) { try Self.decode(bytes) }
        bytes[1] = 3
        bytes[0] = UInt8(ascii: "Z")
        #expect(throws: FrameError.unknownTopic) { try Self.decode(bytes) }
    }

    @Test("the memory of a writer is reused with the same header")
    func reuse() throws {
        var writer = FrameWriter(topic: .digest(SlotGroup(1)), origin: Self.origin)
        writer.append { $0.append([7, 7, 7]) }
        let filled = writer.hasEntries
        writer.removeEntries()
        let emptied = !writer.hasEntries
        #expect(filled && emptied)
        writer.append { $0.append([8]) }
        #expect(Array(writer.bytes) == Self.frame(.digest(SlotGroup(1)), [[8]]))
    }

    @Test("random damage never traps, and what is accepted encodes to the same bytes", arguments: UInt64(0)..<50)
    func fuzz(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<200 {
            var bytes = Self.frame(.change(SlotGroup(2)), [[1, 2, 3], [], [4]])
            for _ in 0...Int.random(in: 0...3, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            bytes.removeLast(Int.random(in: 0...bytes.count, using: &random))
            guard let decoded = try? Self.decode(bytes) else { continue }
            var writer = FrameWriter(topic: decoded.topic, origin: decoded.origin)
            for entry in decoded.entries { writer.append { $0.append(entry) } }
            #expect(Array(writer.bytes) == bytes, "seed \(seed)")
        }
    }
}
