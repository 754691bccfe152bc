import Bytes
import Models
import Testing
import Wire

@testable import Bus
@testable import Store

/// Commands waiting for a batch, and how much of them is kept in memory.
@Suite struct CommandQueueTests {
    private static let unlimited = CommandQueue.Size(rows: .max, bytes: .max)

    /// Makes a frame as it comes from the bus, with this many renames and `padding` bytes outside any command.
    private static func frame(commands: Int, padding: Int = 0) throws -> InboundFrame {
        var writer = FrameWriter(topic: .command(SlotGroup.all.first!), origin: Instance(1))
        for number in 0..<commands {
            writer.append { buffer in
                RequestEntry.write(
                    RequestNumber(UInt64(number)), Slot(0), kind: StoreRequestKind.write.rawValue, to: &buffer
                ) {
                    Write(ConversationID(.zero), by: UserID("alice")!, key: nil, .rename("title")).write(to: &$0)
                }
            }
        }
        if padding > 0 { writer.append { $0.append([UInt8](repeating: 0, count: padding)) } }
        return try InboundFrame(Message(copying: writer.bytes))
    }

    private static func commands(of frame: InboundFrame, _ count: Int) throws -> [Command] {
        try frame.entries.prefix(count).map { bytes in
            let entry = try RequestEntry(bytes)
            return try Command(
                entry, kind: .write, request: RequestKey(origin: frame.origin, number: entry.number),
                frame: frame.slice(bytes))
        }
    }

    @discardableResult
    private static func append(
        _ command: Command, to queue: inout CommandQueue, _ limit: CommandQueue.Size = unlimited
    ) -> Bool {
        queue.append(command, limit: limit)
    }

    /// Takes a batch and returns its number of commands.
    private static func take(from queue: inout CommandQueue, _ limit: CommandQueue.Size) -> Int? {
        queue.nextBatch(limit: limit)?.count
    }

    private final class Frames {
        private weak var frame: InboundFrame?
        init(_ frame: InboundFrame) { self.frame = frame }
        var isKept: Bool { frame != nil }
    }

    @Test("what was taken is let go of, though there is always something waiting")
    func standingBacklog() throws {
        var queue = CommandQueue()
        var frames: [Frames] = []
        for _ in 0..<100 {
            let frame = try Self.frame(commands: 3)
            frames.append(Frames(frame))
            for command in try Self.commands(of: frame, 3) { Self.append(command, to: &queue) }
            if frames.count > 5 { #expect(Self.take(from: &queue, .init(rows: 3, bytes: .max)) == 3) }
        }
        #expect(!queue.isEmpty)
        // A queue may hold as many entries of taken commands as of waiting ones, but not their contents.
        #expect(frames.count { $0.isKept } == 5)
        #expect(queue.size.rows == 15)
    }

    @Test("a small command counts for the frame that it keeps alive, all commands of a frame together for it once")
    func keptFrames() throws {
        var queue = CommandQueue()
        let frame = try Self.frame(commands: 2, padding: 100_000)
        for command in try Self.commands(of: frame, 2) { Self.append(command, to: &queue) }
        #expect(queue.size == .init(rows: 2, bytes: frame.count))
        #expect(Self.take(from: &queue, Self.unlimited) == 2)
        #expect(queue.size == .init())
    }

    @Test("beyond its bytes, as beyond its rows, a command is refused; with nothing waiting even a large one is taken")
    func bounds() throws {
        var queue = CommandQueue()
        let limit = CommandQueue.Size(rows: 4, bytes: 10_000)
        let large = try Self.commands(of: try Self.frame(commands: 1, padding: 20_000), 1)[0]
        #expect(Self.append(large, to: &queue, limit))
        let other = try large.alone()
        #expect(!Self.append(other, to: &queue, limit))
        #expect(Self.take(from: &queue, limit) == 1)
        for command in try Self.commands(of: try Self.frame(commands: 5), 5).enumerated() {
            #expect(Self.append(command.element, to: &queue, limit) == (command.offset < 4))
        }
    }

    @Test("a batch ends before the bytes it may have")
    func batches() throws {
        var queue = CommandQueue()
        for _ in 0..<6 {
            let command = try Self.commands(of: try Self.frame(commands: 1, padding: 3_000), 1)[0]
            Self.append(command, to: &queue)
        }
        #expect(Self.take(from: &queue, .init(rows: 100, bytes: 10_000)) == 3)
        #expect(Self.take(from: &queue, .init(rows: 100, bytes: 10)) == 1)
        #expect(Self.take(from: &queue, .init(rows: 100, bytes: 10_000)) == 2)
        #expect(Self.take(from: &queue, Self.unlimited) == nil)
    }
}

extension Command {
    /// The same command in its own frame.
    fileprivate func alone() throws -> Command {
        var writer = FrameWriter(topic: .command(SlotGroup.all.first!), origin: Instance(1))
        writer.append { buffer in
            RequestEntry.write(RequestNumber(9), Slot(0), kind: StoreRequestKind.write.rawValue, to: &buffer) {
                Write(ConversationID(.zero), by: UserID("alice")!, key: nil, .rename("title")).write(to: &$0)
            }
        }
        let frame = try InboundFrame(Message(copying: writer.bytes))
        let bytes = frame.entries.first { _ in true }!
        return try Command(RequestEntry(bytes), kind: .write, request: request, frame: frame.slice(bytes))
    }
}
