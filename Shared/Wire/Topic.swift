import Bytes
import Models

/// The address of a process on the bus: a random number per start, so that responses to a process that died never reach
/// its successor.
public struct Instance: Hashable, Sendable {
    public let number: UInt64
    public init(_ number: UInt64) { self.number = number }

    public static func random() -> Instance { Instance(.random(in: .min ... .max)) }
}

/// The topic of a frame: the prefix by which ZeroMQ filters subscriptions.
///
/// Layout: kind (one letter) · group (u8), or for a response kind · instance (u64, big-endian). No topic is a prefix of
/// another one.
public enum Topic: Hashable, Sendable {
    /// Commands and queries for the stores that own a slot of the group.
    case command(SlotGroup)
    /// Commands and queries for the receipt services that own a slot of the group.
    case receiptCommand(SlotGroup)
    /// Commands for the media services. The slot is that of the uploader.
    case mediaCommand(SlotGroup)
    /// Responses to one process.
    case response(Instance)
    /// Changes of conversations.
    case change(SlotGroup)
    /// Changes of users' private streams.
    case privateChange(SlotGroup)
    /// Receipts, coalesced.
    case status(SlotGroup)
    /// Positions of conversations and private streams that moved, from a store.
    case digest(SlotGroup)
    /// Status versions that moved, from a receipt service.
    case receiptDigest(SlotGroup)
    /// Typing, presence and superseded sessions, from fanout to fanout; changed profiles, from a store. Never stored.
    case ephemeral(SlotGroup)
    /// The number of erased users, from a store.
    case erasure(SlotGroup)
    /// The revocations of tokens, from a store.
    case revocation(SlotGroup)
    /// Slots that are served from now on, from their owner.
    case served(SlotGroup)
}

extension Topic {
    /// The number of topics that belong to a group; each has an `index` below it.
    public static let indexedCount = 12 * SlotGroup.count

    private static let letters: [UInt8] = Array("CRMUSDETXVFO".utf8)
    private static let responseLetter = UInt8(ascii: "A")

    /// The index of a group's topic in tables, without hashing; nil for a response topic.
    public var index: Int? {
        kindAndGroup.map { $0 * SlotGroup.count + Int($1.number) }
    }

    private var kindAndGroup: (kind: Int, group: SlotGroup)? {
        switch self {
        case .command(let group): (0, group)
        case .receiptCommand(let group): (1, group)
        case .change(let group): (2, group)
        case .privateChange(let group): (3, group)
        case .status(let group): (4, group)
        case .digest(let group): (5, group)
        case .receiptDigest(let group): (6, group)
        case .ephemeral(let group): (7, group)
        case .erasure(let group): (8, group)
        case .revocation(let group): (9, group)
        case .mediaCommand(let group): (10, group)
        case .served(let group): (11, group)
        case .response: nil
        }
    }

    /// What the bytes of a group's topic begin with; nil for a response topic.
    var letter: UInt8? { kindAndGroup.map { Self.letters[$0.kind] } }

    init?(letter: UInt8, group: SlotGroup) {
        switch letter {
        case UInt8(ascii: "C"): self = .command(group)
        case UInt8(ascii: "R"): self = .receiptCommand(group)
        case UInt8(ascii: "M"): self = .change(group)
        case UInt8(ascii: "U"): self = .privateChange(group)
        case UInt8(ascii: "S"): self = .status(group)
        case UInt8(ascii: "D"): self = .digest(group)
        case UInt8(ascii: "E"): self = .receiptDigest(group)
        case UInt8(ascii: "T"): self = .ephemeral(group)
        case UInt8(ascii: "X"): self = .erasure(group)
        case UInt8(ascii: "V"): self = .revocation(group)
        case UInt8(ascii: "F"): self = .mediaCommand(group)
        case UInt8(ascii: "O"): self = .served(group)
        default: return nil
        }
    }

    /// Reads the topic at the start of a frame.
    init(from reader: inout ByteReader) throws(FrameError) {
        do {
            let letter: UInt8 = try reader.read()
            if letter == Self.responseLetter {
                self = .response(Instance(try reader.read()))
                return
            }
            let group: UInt8 = try reader.read()
            guard group < SlotGroup.count, let topic = Topic(letter: letter, group: SlotGroup(group)) else {
                throw FrameError.unknownTopic
            }
            self = topic
        } catch let error as FrameError {
            throw error
        } catch {
            throw .truncated
        }
    }

    public func encode(into buffer: inout ByteBuffer) {
        if case .response(let instance) = self {
            buffer.append(Self.responseLetter)
            buffer.append(bigEndian: instance.number)
        } else if let (kind, group) = kindAndGroup {
            buffer.append(Self.letters[kind])
            buffer.append(group.number)
        }
    }
}
