import Foundation
import Models
import ParleyDigest
import ParleyStorage
import ParleySync

/// Loads one file piece by piece, so that it goes on where it was interrupted, and no whole file is in memory.
struct FileLoader: Sendable {
    let engine: Engine
    let folder: FileFolder
    let attachment: Attachment
    let part: FilePart
    let message: MessageID
    let conversation: ConversationID

    private static let pieceBytes = 1024 * 1024
    private static let mostAttempts = 4
    /// No thumbnail is as large.
    private static let mostThumbnailBytes: Int64 = 16 * 1024 * 1024

    private var id: MediaID { attachment.id }

    /// - Returns: where the file is, whole and as it should be.
    func load() async throws(ParleyError) -> URL {
        let (first, size, sha256) = try await beginning()
        let name = try await engine.beginFile(id, part, bytes: size, of: message, in: conversation)
        var offset = try kept(of: name, size)
        if offset < size, offset == 0, !first.isEmpty { offset += try append(first, to: name, size - offset) }
        while offset < size {
            let piece = try await piece(from: offset)
            offset += try append(piece.bytes, to: name, size - offset)
        }
        guard await FileFolder.patiently({ [folder] in folder.isWhole(name, sha256) }) else {
            await engine.forgetFile(id, part)
            throw .damagedFile
        }
        try await engine.finishFile(id, part, bytes: size)
        return folder.url(name)
    }

    /// What the server says of the content, or the first piece of a thumbnail.
    private func beginning() async throws(ParleyError) -> (first: Data, size: Int64, sha256: String?) {
        guard part == .content else {
            let (bytes, size) = try await piece(from: 0)
            guard size <= Self.mostThumbnailBytes else { throw .damagedFile }
            return (bytes, size, nil)
        }
        guard case .described(let described) = try await ask(.describe(id)),
            described.attachment.size == attachment.size
        else { throw .damagedFile }
        return (Data(), attachment.size, described.sha256)
    }

    /// How much of the content an attempt before has left. A thumbnail begins anew.
    private func kept(of name: String, _ size: Int64) throws(ParleyError) -> Int64 {
        if part == .content, let kept = folder.size(of: name), kept <= size { return kept }
        try writing { try folder.createEmpty(name) }
        return 0
    }

    private func append(_ bytes: Data, to name: String, _ rest: Int64) throws(ParleyError) -> Int64 {
        guard !bytes.isEmpty, Int64(bytes.count) <= rest else { throw .damagedFile }
        try writing { try folder.append(bytes, to: name) }
        return Int64(bytes.count)
    }

    private func piece(from offset: Int64) async throws(ParleyError) -> (bytes: Data, size: Int64) {
        let response = try await ask(.read(id, part, from: offset, count: Self.pieceBytes))
        guard case .piece(let bytes, offset, let size) = response else { throw .damagedFile }
        return (bytes, size)
    }

    /// A network that stumbles, or a server that is busy, is given some attempts.
    private func ask(_ call: MediaCall) async throws(ParleyError) -> MediaResponse {
        for attempt in 1... {
            do throws(ParleyError) {
                return try await engine.ask(call)
            } catch {
                guard error.isTemporary, attempt < Self.mostAttempts, !Task.isCancelled else { throw error }
                try? await engine.clock.sleep(for: .milliseconds(250) * (1 << attempt))
            }
        }
        throw .unreachable
    }

    private func writing(_ body: () throws -> Void) throws(ParleyError) {
        do { try body() } catch {
            throw .storage(StorageError(reason: .full, description: "the file cannot be written: \(error)"))
        }
    }
}

extension ParleyError {
    fileprivate var isTemporary: Bool {
        switch self {
        case .unreachable: true
        case .refused(let problem): CallFailure.refused(problem, retryAfter: nil).isTemporary
        default: false
        }
    }
}

extension FileFolder {
    /// Whether a file is on the disk and has this digest; nil for any.
    fileprivate func isWhole(_ name: String, _ sha256: String?) -> Bool {
        guard (try? synchronize(name)) != nil else { return false }
        guard let sha256 else { return true }
        let digest = SHA256Bytes()
        guard (try? forEachPiece(of: name) { $0.withUnsafeBytes(digest.update) }) != nil else { return false }
        return SHA256Text.hexadecimal(digest.finish()) == sha256
    }
}
