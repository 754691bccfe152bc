import Foundation
import Models
import ParleyDigest
import ParleyStorage
import ParleySync

// Files of messages: those that are sent, and those that are loaded.

extension Engine {
    // MARK: Sending

    /// Copies files of the user, beside the engine, and stores a message that carries them.
    func send(
        _ text: String, _ files: [LocalFile], replyTo parent: MessageID?, mentions: [UserID],
        mentionsAll: Bool, extra: [String: JSONValue]?, isSealed: Bool, in id: ConversationID
    ) async throws(ParleyError) -> MessageID {
        guard files.count <= ContractLimits.attachmentsPerMessage else {
            throw .file(.tooMany(limit: ContractLimits.attachmentsPerMessage))
        }
        guard let store else { throw .closed }
        let limit = (try? store.mediaBytes()) ?? Int64(ContractLimits.mediaBytes)
        let now = clock.timestamp
        let named = files.map { (file: $0, id: MediaID(identifiers.uuid(at: now))) }
        let copies = try await FileFolder.patiently { [folder] in Self.copied(named, in: folder, limit: limit) }.get()
        do throws(ParleyError) {
            return try send(
                text, copies, replyTo: parent, mentions: mentions, mentionsAll: mentionsAll, extra: extra,
                isSealed: isSealed, in: id)
        } catch {
            for copy in copies { folder.remove(copy.name) }
            throw error
        }
    }

    private static func copied(
        _ files: [(file: LocalFile, id: MediaID)], in folder: FileFolder, limit: Int64
    ) -> Result<[CopiedFile], ParleyError> {
        var copies: [CopiedFile] = []
        do throws(FileProblem) {
            for (file, id) in files { copies.append(try CopiedFile(file, id: id, in: folder, limit: limit)) }
            return .success(copies)
        } catch {
            for copy in copies { folder.remove(copy.name) }
            return .failure(.file(error))
        }
    }

    // MARK: Uploading

    /// Goes on with the uploads, and removes what nobody needs any more.
    func pumpUploads() throws(StorageError) {
        guard let store else { return }
        removeOrphans()
        let uploads = try store.uploads(limit: UploadSender.uploadsToPlan)
        guard !uploads.isEmpty else { return }
        for upload in uploads where uploader.isRemovable(upload) { try remove(upload.file, from: store) }
        guard token != nil else { return needToken(isFresh: false) }
        guard isTokenOfUser else { return }
        for (id, call) in uploader.plan(uploads, at: clock.now) { submit(id, call) }
    }

    private func remove(_ file: OutgoingFile, from store: LocalStore) throws(StorageError) {
        store.files.remove(file.file)
        try store.apply(.removed, to: file.key)
    }

    private func submit(_ id: Int, _ call: MediaCall) {
        let folder = folder
        start { server, token in
            guard let token else { return { $0.take(.failure(Self.noToken), for: id) } }
            let result = await Self.result(of: call, server, token, folder)
            return { $0.take($0.checked(result, token), for: id) }
        }
    }

    private nonisolated static func result(
        of call: MediaCall, _ server: any Server, _ token: String, _ folder: FileFolder
    ) async -> Result<MediaResponse, CallFailure> {
        guard case .append(_, let file, let offset, let count) = call else {
            return await server.carryOut(call, body: nil, sha256: [], token: token)
        }
        let read = await FileFolder.patiently { () -> (piece: Data, sha256: [UInt8])? in
            guard let piece = try? folder.read(file, from: offset, count: count) else { return nil }
            let digest = SHA256Bytes()
            piece.withUnsafeBytes(digest.update)
            return (piece, digest.finish())
        }
        guard let read else {
            let problem = Problem(.notFound, "the file is not on this device any more")
            return .failure(.refused(ProblemDetails(problem), retryAfter: nil))
        }
        return await server.carryOut(call, body: read.piece, sha256: read.sha256, token: token)
    }

    private func take(_ result: Result<MediaResponse, CallFailure>, for id: Int) {
        guard let store else { return }
        let step = uploader.handle(result, for: id, at: clock.now)
        guard let upload = step.upload else { return }
        do throws(StorageError) {
            if step.writes.contains(.removed) { store.files.remove(upload.file.file) }
            try store.write { () throws(StorageError) in
                for write in step.writes { try store.apply(write, to: upload.file.key) }
            }
        } catch {
            return fail(error)
        }
        if case .success = result { proveToken() }
        if let id = upload.conversation {
            let isProgress = step.writes.allSatisfy { $0.isProgress(of: upload.file) }
            hub.raise(isProgress ? [.uploads(id)] : [.uploads(id), .conversation(id)])
        }
        if step.needsFreshToken { needToken(isFresh: true) }
        pump()
        scheduleWake()
    }

    // MARK: Loading

    /// The file of a message on this device; it is loaded if there is none.
    func load(
        _ attachment: Attachment, _ part: FilePart, of message: MessageID, in id: ConversationID
    ) async throws(ParleyError) -> URL {
        guard let store else { throw .closed }
        do throws(StorageError) {
            if let kept = try store.file(attachment.id, part), kept.isComplete,
                store.files.size(of: kept.name) != nil
            {
                // On a full disk it is shown all the same.
                try? store.noteUse(of: attachment.id, part, at: clock.timestamp)
                return store.files.url(kept.name)
            }
        } catch {
            throw .storage(error)
        }
        let key = FileKey(id: attachment.id, part: part)
        let loading =
            loads[key]
            ?? Task { [weak self] in
                guard let self else { return .failure(.closed) }
                return await self.loaded(attachment, part, of: message, in: id)
            }
        loads[key] = loading
        return try await loading.value.get()
    }

    private func loaded(
        _ attachment: Attachment, _ part: FilePart, of message: MessageID, in id: ConversationID
    ) async -> Result<URL, ParleyError> {
        defer { loads[FileKey(id: attachment.id, part: part)] = nil }
        let loader = FileLoader(
            engine: self, folder: folder, attachment: attachment, part: part, message: message, conversation: id)
        do throws(ParleyError) {
            let url = try await loader.load()
            hub.raise([.conversation(id)])
            return .success(url)
        } catch {
            return .failure(error)
        }
    }

    /// The name of the file to load into: that of an attempt before, or a new one.
    func beginFile(
        _ id: MediaID, _ part: FilePart, bytes: Int64, of message: MessageID, in conversation: ConversationID
    ) throws(ParleyError) -> String {
        let name = identifiers.uuid(at: clock.timestamp).description
        return try storing { (store, now) throws(StorageError) in
            if let kept = try store.file(id, part), !kept.isComplete { return kept.name }
            let isThere = try store.beginFile(
                id, part, name: name, bytes: bytes, of: message, in: conversation, at: now)
            return isThere ? name : nil
        }
    }

    /// What is loaded is whole and as it should be.
    func finishFile(_ id: MediaID, _ part: FilePart, bytes: Int64) throws(ParleyError) {
        defer { removeOrphans() }
        _ = try storing { (store, _) throws(StorageError) in
            try store.finishFile(id, part, bytes: bytes) ? true : nil
        }
    }

    func forgetFile(_ id: MediaID, _ part: FilePart) {
        try? store?.forgetFile(id, part)
        removeOrphans()
    }

    /// Removes files that nobody needs any more, in turns with what else there is to do.
    func removeOrphans() {
        // What fails is done the next time.
        guard let removed = try? store?.removeOrphans(), removed > 0 else { return }
        hub.raise([.files])
        if removed == LocalStore.orphansAtOnce { Task { self.removeOrphans() } }
    }

    /// - Parameter body: returns nil if the message has gone meanwhile.
    private func storing<Value>(
        _ body: (LocalStore, Timestamp) throws(StorageError) -> Value?
    ) throws(ParleyError) -> Value {
        guard let store else { throw .closed }
        do throws(StorageError) {
            if let value = try body(store, clock.timestamp) { return value }
        } catch {
            throw .storage(error)
        }
        throw .refused(ProblemDetails(Problem(.notFound, "the message is not there any more")))
    }

    // MARK: Limits

    /// Asks the server for its limits, once in a session of the application.
    func learnLimits() {
        guard !hasAskedForLimits else { return }
        hasAskedForLimits = true
        Task {
            guard let limits = try? await self.ask(.limits) else { return self.hasAskedForLimits = false }
            try? self.store?.store(
                mediaBytes: limits.mediaBytes, repliesToAttachments: limits.replyToAttachments ?? false)
        }
    }

    // MARK: Sweeping

    /// Removes files that no row has: of a process that ended between a copy and its row. Those of the last hour may be
    /// such that another process is about to store.
    func sweepFiles() {
        let folder = folder
        Task {
            let old = await Self.names(in: folder)
            guard !old.isEmpty, let store, let unnamed = try? store.unnamed(old) else { return }
            for name in unnamed { folder.remove(name) }
        }
    }

    private nonisolated static func names(in folder: FileFolder) async -> [String] {
        folder.names(before: Date(timeIntervalSinceNow: -3600))
    }
}

/// A file that is being loaded.
struct FileKey: Hashable {
    let id: MediaID
    let part: FilePart
}

extension UploadWrite {
    /// Whether a timeline shows the same after it.
    fileprivate func isProgress(of file: OutgoingFile) -> Bool {
        if case .acknowledged(let bytes) = self { bytes < file.size } else { false }
    }
}
