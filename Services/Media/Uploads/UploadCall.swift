import Edge
import Models
import Reactor
import ServiceKit

/// One request that creates an upload or appends to it: between the client, whose body arrives in pieces, and an
/// `UploadWriter`.
///
/// If the client goes away, what has arrived is kept, unless its checksum is unknown then.
@Reactor
final class UploadCall: StreamHandler {
    /// What the head of the request asks for.
    struct Head: Sendable {
        enum Target: Sendable {
            case create(size: Int64, UploadMetadata)
            case append(MediaID, offset: Int64)
        }

        var target: Target
        var checksum: UploadChecksum?
        /// As the head announces it; nil when it is not known.
        var bodyBytes: UInt64?
    }

    let uploader: UserID
    private unowned let media: MediaService
    private let account: MediaAccount
    private let token: Identity
    private let head: Head
    private var claim: Uploads.Claim?
    private var writer: UploadWriter?
    private var stream: RequestStream?
    private var isBodyComplete = false
    private var isClosed = false
    private var hasEnded = false

    init(_ media: MediaService, _ account: MediaAccount, _ token: Identity, _ head: Head) {
        self.media = media
        self.account = account
        self.token = token
        self.head = head
        uploader = account.user
        account.begin()
    }

    // MARK: The client

    func opened(_ stream: RequestStream) {
        self.stream = stream
        // Until it is known where the bytes go.
        stream.pause()
        Reactor.spawn { [self] in await begin() }
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        guard let writer else { return }
        guard media.authenticator.isValid(token) else {
            return refuse(Reply(Problem(.unauthenticated, "Authorization: the token is valid no longer")))
        }
        if let problem = media.authenticator.suspension(of: token, isOpenToReaders: false) {
            return refuse(Reply(problem))
        }
        guard writer.take(bytes) else {
            return refuse(Reply(Problem(.invalid, "the body has more bytes than Upload-Length says")))
        }
        media.metrics.received(bytes.count)
        if !writer.hasRoom { stream?.pause() }
    }

    func bodyEnded() {
        isBodyComplete = true
        writer?.end(isComplete: true)
        advance()
    }

    func drained() {}

    func closed() {
        isClosed = true
        stream = nil
        writer?.end(isComplete: isBodyComplete)
        advance()
    }

    /// Another request takes the upload over.
    func displace() { stream?.abandon() }

    // MARK: Beginning

    private func begin() async {
        do throws(Reply) {
            let claim = try await claimed()
            self.claim = claim
            try await open(claim)
        } catch {
            refuse(error)
            end()
        }
    }

    private func claimed() async throws(Reply) -> Uploads.Claim {
        switch head.target {
        case .create(let size, let metadata):
            let claim = try await media.uploads.create(of: uploader, size: size, metadata)
            await media.active.begin(claim.id, self)
            return claim
        case .append(let id, let offset):
            await media.active.begin(id, self)
            return try await media.uploads.claim(id, of: uploader, at: offset)
        }
    }

    private func open(_ claim: Uploads.Claim) async throws(Reply) {
        guard !isClosed else { return end() }
        if case .create = head.target, isBodyComplete, head.bodyBytes == 0, claim.size > 0 {
            return succeed(claim, at: 0)
        }
        guard (head.bodyBytes ?? 0) <= UInt64(claim.size - claim.offset) else {
            throw Reply(Problem(.tooLarge, "the body has more bytes than Upload-Length says"))
        }
        let storage = media.storage
        let result = await media.pool.run {
            Result { () throws(FileError) in try storage.openUpload(claim.id, from: claim.offset) }
        }
        let file = try opened(result)
        // Once more: between the claim and the lock, another process may have completed it.
        if case .append(let id, let offset) = head.target {
            _ = try await media.uploads.claim(id, of: uploader, at: offset, again: claim.number)
        }
        if claim.size == 0 { try await completeEmpty(claim, file) }
        write(claim, to: file)
    }

    private func opened(_ result: Result<OpenFile, FileError>) throws(Reply) -> OpenFile {
        switch result {
        case .success(let file): return file
        case .failure(let error) where error.isLocked:
            throw Reply(
                Problem(.conflict, "another request is writing the upload"), status: 423,
                headers: [.retryAfter(seconds: 1)])
        // A backup was restored that has the row and not the bytes: the client begins anew.
        case .failure(let error) where error.isMissing: throw .notFound
        case .failure(let error): throw media.failed(error)
        }
    }

    private func completeEmpty(_ claim: Uploads.Claim, _ file: OpenFile) async throws(Reply) {
        let digest = ContentDigest.hex(ContentDigest(.sha256).finish())
        if case .failure(let failure) = await media.uploads.advance(claim, to: 0, sha256: digest) {
            throw reply(to: failure)
        }
    }

    private func write(_ claim: Uploads.Claim, to file: OpenFile) {
        let writer = UploadWriter(
            file, from: claim.offset, to: claim.size, head.checksum, pool: media.pool,
            note: { [media] offset, sha256 in await media.uploads.advance(claim, to: offset, sha256: sha256) })
        writer.onProgress = { [weak self] in self?.advance() }
        self.writer = writer
        if isBodyComplete || isClosed { writer.end(isComplete: isBodyComplete) }
        advance()
    }

    // MARK: Progress

    private func advance() {
        guard let writer, let claim else { return }
        if let failure = writer.failure, stream != nil { refuse(reply(to: failure)) }
        if writer.isDone { return finish(writer, claim) }
        if stream != nil, writer.hasRoom { stream?.resume() }
    }

    private func finish(_ writer: UploadWriter, _ claim: Uploads.Claim) {
        guard !hasEnded else { return }
        end()
        guard writer.failure == nil else { return }
        if writer.noted == claim.size { media.isComplete(claim.id) }
        succeed(claim, at: writer.noted)
    }

    private func succeed(_ claim: Uploads.Claim, at offset: Int64) {
        let isCreated = if case .create = head.target { true } else { false }
        var headers = MediaService.tusHeaders
        if isCreated { headers.append(ResponseHeader("Location", "/v1/media/\(claim.id)")) }
        headers.append(ResponseHeader("Upload-Offset", "\(offset)"))
        headers.append(MediaService.expiry(claim.expiresAt))
        end()
        respond(Reply(isCreated ? 201 : 204, headers: headers))
    }

    /// What the client is told of a failure. An incomplete body ends the connection.
    private func reply(to failure: UploadFailure) -> Reply {
        switch failure {
        case .disk(let error): media.failed(error)
        case .checksumDiffers:
            Reply(Problem(.invalid, "Upload-Checksum: the body that arrived has another digest"), status: 460)
        case .takenOver: Reply(Problem(.conflict, "another request has taken the upload over, or it has ended"))
        case .databaseUnavailable: .unavailable
        }
    }

    private func refuse(_ reply: Reply) { respond(reply.with(MediaService.tusHeaders)) }

    private func respond(_ reply: Reply) {
        guard let stream else { return }
        self.stream = nil
        media.metrics.responded(reply.status)
        reply.send(to: stream)
    }

    /// Nothing is written any more.
    private func end() {
        guard !hasEnded else { return }
        hasEnded = true
        account.end()
        writer?.onProgress = {}
        switch head.target {
        case .append(let id, _): media.active.end(id, self)
        case .create: if let claim { media.active.end(claim.id, self) }
        }
        writer = nil
    }
}
