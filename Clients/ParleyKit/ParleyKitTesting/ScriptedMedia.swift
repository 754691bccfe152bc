import Foundation
import Models
import ParleyDigest
import ParleyStorage
import ParleySync

/// The files of a `ScriptedServer`: uploads as tus has them, and what may be read.
package struct ScriptedMedia: Sendable {
    private struct File {
        let size: Int64
        let attachment: Attachment
        var bytes = Data()
        var looks = 0
    }

    private var files: [MediaID: File] = [:]
    private var lastId: UInt64 = 0
    /// How often a complete upload has to be looked at before it is ready.
    package var looksBeforeReady = 1
    /// Names of files that are refused when they are complete.
    package var refusedNames: Set<String> = []
    /// How many calls it refuses because it is busy.
    package var busyCalls = 0
    /// How many bytes arrived, those included that had arrived before.
    package private(set) var receivedBytes = 0
    package private(set) var terminated: [MediaID] = []

    /// The uploads that there are.
    package var ids: [MediaID] { files.keys.sorted { $0.uuid < $1.uuid } }

    package func content(_ id: MediaID) -> Data? { files[id]?.bytes }

    /// An upload expires, or a file goes for another reason.
    package mutating func lose(_ id: MediaID) { files[id] = nil }

    /// Damages a file.
    package mutating func replace(_ id: MediaID, with bytes: Data) { files[id]?.bytes = bytes }

    /// A file that is ready.
    package mutating func add(_ name: String, _ bytes: Data, type: String = "image/png") -> Attachment {
        lastId += 1
        let id = MediaID(UUIDBytes(high: 0x4000, low: 1 << 63 | lastId))
        let attachment = Attachment(id: id, name: name, type: type, size: Int64(bytes.count))
        files[id] = File(size: attachment.size, attachment: attachment, bytes: bytes, looks: .max)
        return attachment
    }

    /// What a message says of it; nil if it is not ready.
    func attach(_ id: MediaID) -> Attachment? {
        guard let file = files[id], state(of: file) == .ready else { return nil }
        return file.attachment
    }

    private func state(of file: File) -> UploadedFile.State {
        if file.bytes.count < file.size { return .uploading }
        if file.looks < looksBeforeReady { return .processing }
        return refusedNames.contains(file.attachment.name) ? .refused : .ready
    }

    mutating func carryOut(_ call: MediaCall, body: Data?) -> Result<MediaResponse, Problem> {
        guard busyCalls == 0 else {
            busyCalls -= 1
            return .failure(Problem(.unavailable, "busy"))
        }
        switch call {
        case .create(let size, let name, let type):
            let created = add(name, Data(), type: type)
            let attachment = Attachment(id: created.id, name: name, type: type, size: size, width: 3, height: 2)
            files[created.id] = File(size: size, attachment: attachment)
            return .success(.created(created.id))
        case .offset(let id):
            return file(id).map { .offset(Int64($0.bytes.count), ofSize: $0.size) }
        case .append(let id, _, let offset, let count): return append(body ?? Data(), to: id, at: offset, count)
        case .describe(let id): return describe(id)
        case .terminate(let id):
            guard files.removeValue(forKey: id) != nil else { return .failure(Problem(.notFound, "file")) }
            terminated.append(id)
            return .success(.done)
        case .read(let id, _, let offset, let count):
            return file(id).map { file in
                let end = min(Int64(file.bytes.count), offset + Int64(count))
                return .piece(Data(file.bytes[Int(offset)..<Int(end)]), from: offset, ofSize: Int64(file.bytes.count))
            }
        }
    }

    private func file(_ id: MediaID) -> Result<File, Problem> {
        files[id].map { .success($0) } ?? .failure(Problem(.notFound, "file"))
    }

    private mutating func append(
        _ body: Data, to id: MediaID, at offset: Int64, _ count: Int
    ) -> Result<MediaResponse, Problem> {
        guard var file = files[id] else { return .failure(Problem(.notFound, "file")) }
        guard body.count == count, Int64(file.bytes.count) == offset, offset + Int64(count) <= file.size else {
            return .failure(Problem(.conflict, "Upload-Offset"))
        }
        receivedBytes += count
        file.bytes.append(body)
        files[id] = file
        return .success(.offset(Int64(file.bytes.count), ofSize: nil))
    }

    private mutating func describe(_ id: MediaID) -> Result<MediaResponse, Problem> {
        guard var file = files[id] else { return .failure(Problem(.notFound, "file")) }
        if file.bytes.count == file.size, file.looks < .max { file.looks += 1 }
        files[id] = file
        let digest = SHA256Bytes()
        file.bytes.withUnsafeBytes(digest.update)
        let state = state(of: file)
        return .success(
            .described(
                UploadedFile(
                    file.attachment, state,
                    sha256: digest.finish().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(),
                    reason: state == .refused ? "wrongType" : nil)))
    }
}

extension MediaCall {
    /// For the record of calls.
    var name: String {
        switch self {
        case .create: "create upload"
        case .offset: "ask offset"
        case .append: "append"
        case .describe: "describe"
        case .terminate: "terminate"
        case .read: "read"
        }
    }
}
