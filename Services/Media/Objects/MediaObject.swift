import Bytes
import JSON
import Models
import Postgres

/// An uploaded file, as its row has it.
struct MediaObject: Sendable {
    struct Columns: NamedFields {
        let id: Column<MediaID>
        let uploader: Column<UserID>
        let state: Column<ObjectState>
        let name: Column<String>
        let metadata: Column<String>
        let size: Column<Int64>
        let received: Column<Int64>
        let expiresAt: Column<Timestamp>
        let version: Column<Int64?>
        let type: Column<String?>
        let sha256: Column<String?>
        let reason: Column<String?>
        let width: Column<Int32?>
        let height: Column<Int32?>
        let durationMs: Column<Int64?>
        let thumbhash: Column<String?>
        let waveform: Column<String?>
        let thumbnails: Column<String?>
    }

    let id: MediaID
    let uploader: UserID
    let state: ObjectState
    let name: String
    /// `Upload-Metadata`, as the client sent it.
    let metadata: String
    let size: Int64
    let received: Int64
    let expiresAt: Timestamp
    let version: Int64?
    let type: String?
    let sha256: String?
    /// Why it is refused.
    let reason: String?
    let facts: ContentFacts

    init(_ row: Row, _ columns: Columns) {
        id = row[columns.id]
        uploader = row[columns.uploader]
        state = row[columns.state]
        name = row[columns.name]
        metadata = row[columns.metadata]
        size = row[columns.size]
        received = row[columns.received]
        expiresAt = row[columns.expiresAt]
        version = row[columns.version]
        type = row[columns.type]
        sha256 = row[columns.sha256]
        reason = row[columns.reason]
        facts = ContentFacts(
            width: row[columns.width], height: row[columns.height], durationMilliseconds: row[columns.durationMs],
            thumbhash: row[columns.thumbhash], waveform: row[columns.waveform], thumbnails: row[columns.thumbnails])
    }
}

/// What was found in a file.
struct ContentFacts: Equatable, Sendable {
    var width: Int32?
    var height: Int32?
    var durationMilliseconds: Int64?
    var thumbhash: String?
    /// A JSON array of 64 numbers from 0 to 255.
    var waveform: String?
    /// A JSON array: `[{"size":"small","width":160,"height":120,"type":"image/webp"}]`.
    var thumbnails: String?
}

extension MediaObject {
    /// What a message says of it: at most `ContractLimits.attachmentBytes`.
    func writeDescriptor(to buffer: inout ByteBuffer) {
        buffer.beginObject()
        writeCore(to: &buffer)
        writeFacts(to: &buffer)
        buffer.endObject()
    }

    /// The response to `GET /v1/media/{id}`.
    func writeJSON(to buffer: inout ByteBuffer) {
        buffer.beginObject()
        writeCore(to: &buffer)
        buffer.append(key: "sha256", json: sha256)
        buffer.append(key: "state", json: state.shown.name)
        buffer.append(key: "reason", json: reason)
        writeFacts(to: &buffer)
        buffer.append(key: "thumbnails", encodedText: facts.thumbnails ?? "[]")
        buffer.endObject()
    }

    private func writeCore(to buffer: inout ByteBuffer) {
        buffer.append(key: "id", json: id.uuid)
        buffer.append(key: "name", json: name)
        buffer.append(key: "type", json: type ?? MediaType.unknown)
        buffer.append(key: "size", json: size)
    }

    private func writeFacts(to buffer: inout ByteBuffer) {
        buffer.append(key: "width", json: facts.width.map(Int.init))
        buffer.append(key: "height", json: facts.height.map(Int.init))
        if let duration = facts.durationMilliseconds {
            buffer.append(key: "duration", encodedText: Self.seconds(milliseconds: duration))
        }
        buffer.append(key: "thumbhash", json: facts.thumbhash)
        if let waveform = facts.waveform { buffer.append(key: "waveform", encodedText: waveform) }
    }

    /// `12.345`
    static func seconds(milliseconds: Int64) -> String {
        let fraction = String(milliseconds % 1000 + 1000).dropFirst()
        return "\(milliseconds / 1000).\(fraction)"
    }
}

extension ByteBuffer {
    fileprivate mutating func append(key: StaticString, encodedText text: String) {
        var text = text
        text.withUTF8 { append(key: key, encoded: UnsafeRawBufferPointer($0)) }
    }
}
