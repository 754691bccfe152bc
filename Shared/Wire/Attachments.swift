import Bytes
import Models

/// What became of attaching one uploaded file to a message. Numbers are retired, never reused.
public enum AttachVerdict: UInt8, CaseIterable, Sendable {
    case ready = 0
    /// There is no such file of this uploader, or not any more.
    case notFound = 1
    /// It is still arriving, or being looked at.
    case notReady = 2
    /// What was looked at may not be sent.
    case refused = 3
}

/// A file that a message is to carry. It borrows its bytes.
///
/// Layout: media 16 · verdict 1 · descriptor length 2, UTF-8.
public struct AttachedFile {
    public var id: MediaID
    public var verdict: AttachVerdict
    /// What the message says of the file: the JSON of a `Attachment`. Empty unless the file is ready.
    public var descriptor: UnsafeRawBufferPointer

    public init(_ id: MediaID, _ verdict: AttachVerdict, descriptor: UnsafeRawBufferPointer) {
        self.id = id
        self.verdict = verdict
        self.descriptor = descriptor
    }

    init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.media()
        let number: UInt8 = try reader.number()
        guard let verdict = AttachVerdict(rawValue: number) else {
            throw .unknownValue(field: "attach verdict", UInt64(number))
        }
        self.verdict = verdict
        let length: UInt16 = try reader.number()
        guard (verdict == .ready) == (length > 0), Int(length) <= ContractLimits.attachmentBytes else {
            throw .unknownValue(field: "descriptor", UInt64(length))
        }
        descriptor = try reader.bytes(Int(length))
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(id)
        buffer.append(verdict.rawValue)
        buffer.append(bigEndian: UInt16(descriptor.count))
        buffer.append(descriptor)
    }
}

/// The files that one message is to carry, in the sender's order. It borrows its bytes, which were checked.
///
/// Layout: count 1 · count × `AttachedFile`.
public struct AttachmentList {
    public let count: Int
    /// The files.
    private let bytes: UnsafeRawBufferPointer

    public static var none: AttachmentList {
        AttachmentList(count: 0, bytes: UnsafeRawBufferPointer(start: nil, count: 0))
    }

    private init(count: Int, bytes: UnsafeRawBufferPointer) {
        self.count = count
        self.bytes = bytes
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        let number: UInt8 = try reader.number()
        guard number <= ContractLimits.attachmentsPerMessage else {
            throw .unknownValue(field: "attachments", UInt64(number))
        }
        var files = reader
        for _ in 0..<number { _ = try AttachedFile(from: &files) }
        bytes = try reader.bytes(reader.remaining - files.remaining)
        count = Int(number)
    }

    public var isEmpty: Bool { count == 0 }

    public var ids: [MediaID] {
        var ids: [MediaID] = []
        forEach { ids.append($0.id) }
        return ids
    }

    public func forEach(_ body: (AttachedFile) -> Void) {
        var reader = ByteReader(bytes)
        for _ in 0..<count {
            guard let file = try? AttachedFile(from: &reader) else { preconditionFailure("the list was checked") }
            body(file)
        }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(UInt8(count))
        buffer.append(bytes)
    }
}

/// `mayReadAttachment`: whether a user may see a message now, by the rules for its text, and it carries this file.
///
/// A query on the conversation's slot. Layout: conversation 16 · reader name (empty: of no user, whether the message
/// carries it for anybody) · message 16 · sender name · media 16. Response: 200 with 1 for yes or 0 for no, in one byte.
public struct MayReadAttachment: WireCodable, Hashable {
    public var conversation: ConversationID
    public var reader: UserID?
    public var message: MessageID
    public var sender: UserID
    public var media: MediaID

    public init(
        _ media: MediaID, of message: MessageID, by sender: UserID, in conversation: ConversationID, reader: UserID?
    ) {
        self.conversation = conversation
        self.reader = reader
        self.message = message
        self.sender = sender
        self.media = media
    }

    public init(from bytes: inout ByteReader) throws(WireError) {
        conversation = try bytes.conversation()
        reader = try bytes.optionalUser()
        message = try bytes.message()
        sender = try bytes.user()
        media = try bytes.media()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(conversation)
        buffer.append(name: reader?.name ?? "")
        buffer.append(message)
        buffer.append(sender)
        buffer.append(media)
    }
}
