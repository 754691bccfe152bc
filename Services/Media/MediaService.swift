import Bus
import Bytes
import Edge
import JSON
import Models
import Postgres
import Reactor
import ServiceKit
import Slots
import Wire

/// Serves the calls of the client contract that concern files, and the requests of ingest and store.
///
/// Uploads are written, and files read, by `FilePool`; the rest happens on the reactor.
@Reactor
final class MediaService: HTTPHandler {
    /// Of uploads.
    let storage: FileStorage
    /// What is kept of them.
    let objects: any ObjectStorage
    let limits: UploadLimits
    /// For files as they arrive and are read.
    let pool = FilePool(threads: 4)
    /// For objects: those of a server keep no disk waiting.
    let objectPool: FilePool
    let slots: OwnedSlots
    let uploads: Uploads
    let active = ActiveUploads()
    let accounts: MediaAccounts
    let readers: Readers
    let authenticator: Authenticator
    let metrics: MediaMetrics
    private let service: Service
    private let bus: Bus
    private let database: MediaDatabase
    private let ownership: MediaSlots
    private let erased: ErasedUsers
    private let revoked: RevokedTokens
    private let carriers: Carriers
    private let inspections: Inspections
    private let caretaker: Caretaker
    private let storageHealth: StorageHealth
    private var signer: AddressSigner?

    /// - Parameter placement: on Citus, where the slots are.
    init(_ service: Service, _ configuration: MediaConfiguration, _ placement: Placement?, bus: Bus) {
        self.service = service
        self.bus = bus
        storage = configuration.storage.uploads
        objects = configuration.storage.objects
        objectPool = objects.isRemote ? FilePool(threads: configuration.storage.connections) : pool
        storageHealth = StorageHealth(objects, objectPool, log: service.log)
        limits = configuration.limits
        database = MediaDatabase(configuration, placement)
        ownership = MediaSlots(configuration, placement, database, bus: bus)
        slots = ownership.owned
        uploads = Uploads(database, configuration.limits, log: service.log)
        accounts = MediaAccounts(configuration.limits)
        readers = Readers(database, bus: bus, log: service.log)
        erased = ErasedUsers(bus: bus)
        revoked = RevokedTokens(bus: bus, longestLifetime: configuration.tokens.longestLifetime)
        authenticator = Authenticator(configuration.tokens, erased, revoked)
        metrics = MediaMetrics(service.metrics)
        let copies = MediaCopies(
            database, objects, objectPool, accounts, dailyLimit: configuration.limits.bytesPerDay, erased,
            log: service.log)
        carriers = Carriers(database, copies, bus: bus, log: service.log)
        inspections = Inspections(
            configuration.inspector, configuration.scanner, configuration.storage, pool, objectPool: objectPool,
            database, unsent: configuration.limits.unsent, metrics, log: service.log)
        caretaker = Caretaker(
            database, slots: slots, configuration.storage, objectPool: objectPool, readers, inspections,
            log: service.log)
        carriers.onHidden = { [unowned self] ids in
            ids.forEach { readers.forget($0) }
            caretaker.wake()
        }
        erased.onErased = { [active] user in Reactor.spawn { await active.endAll(of: user) } }
        slots.onEndedSession = { [log = service.log] in
            log.warning("ended the session of a silent media service", [LogField("pid", $0)])
        }
    }

    func start() {
        bus.onFrame = { [self] in receive($0) }
        erased.start()
        revoked.start()
        readers.start()
        authenticator.watchKeys(service.log)
        for part in database.parts {
            part.reading.onUp { [self] in Reactor.spawn { [self] in await loadKey(part.reading) } }
        }
        for connection in database.connections {
            connection.onLoss { [service] error in
                service.log.warning("connection to the database lost", [LogField("reason", error.debugDescription)])
            }
            connection.open()
        }
        ownership.start()
        inspections.start()
        caretaker.start()
        storageHealth.start()
        addMetrics()
    }

    /// Every node has the same.
    private func loadKey(_ reading: Connection) async {
        guard let row = (try? await reading.query(MediaStatements.signingKey))?.first else { return }
        signer = AddressSigner(key: row[MediaStatements.signingKey.columns.key])
    }

    /// Gives the slots away.
    func drain() async { await ownership.drain() }

    /// Waits until what has arrived is kept.
    func finish() async {
        await active.endAll()
        await inspections.finish()
    }

    func addHealth(to health: Health) {
        // On Citus a worker that is away does not keep the others' files from being served.
        health.require("writing connection") { [database] in
            database.parts.contains { $0.writing.isUp } ? nil : "not connected to the database"
        }
        health.require("reading connection") { [database] in
            database.parts.contains { $0.reading.isUp } ? nil : "not connected to the database"
        }
        health.require("shards") { [database] in database.isReached ? nil : "not connected to all shards yet" }
        health.require("slots") { [slots] in slots.count > 0 ? nil : "owns no slot yet" }
        health.require("storage") { [storageHealth] in
            storageHealth.hasBeenUp ? nil : "the storage was not reached yet: see the log"
        }
        health.require("signing key") { [unowned self] in signer == nil ? "not loaded yet" : nil }
        health.require("bus") { [bus] in bus.connectedEndpoints.isEmpty ? "no store is connected" : nil }
        health.require("erased users") { [erased] in
            erased.isComplete ? nil : "the list of erased users is not loaded yet"
        }
        health.require("revoked tokens") { [revoked] in
            revoked.isComplete ? nil : "the list of revoked tokens is not loaded yet"
        }
    }

    private func addMetrics() {
        let metrics = service.metrics
        metrics.gauge("parley_media_streams", "Uploads and downloads in progress") { [accounts] in
            Double(accounts.streams)
        }
        metrics.gauge("parley_media_uploads", "Uploads that requests of this process are writing") { [active] in
            Double(active.count)
        }
        metrics.gauge("parley_media_file_calls_waiting", "Calls that wait for a thread that waits for the disk") {
            [pool] in
            Double(pool.waiting)
        }
        metrics.gauge("parley_media_inspections", "Files that are being looked into, or wait for it") { [inspections] in
            Double(inspections.count)
        }
        metrics.counter("parley_media_postponed_total", "Tries of keeping a file that failed for reasons not its own") {
            [inspections] in Double(inspections.postponed)
        }
        metrics.gauge("parley_media_backlog_files", "Complete uploads that are not looked into and kept yet") {
            [caretaker] in Double(caretaker.backlog.files)
        }
        metrics.gauge("parley_media_backlog_bytes", "Bytes of these files") { [caretaker] in
            Double(caretaker.backlog.bytes)
        }
        metrics.gauge("parley_media_storage_up", "Whether the storage of files was reached when it was last tried") {
            [storageHealth] in storageHealth.isUp ? 1 : 0
        }
        metrics.gauge("parley_media_object_calls_waiting", "Calls that wait for a thread that waits for the storage") {
            [objectPool] in Double(objectPool.waiting)
        }
        metrics.gauge("parley_media_slots", "Slots owned") { [slots] in Double(slots.count) }
        metrics.counter("parley_media_questions_total", "Stores asked who may read a file") { [readers] in
            Double(readers.asked)
        }
        metrics.counter("parley_media_removed_total", "Files removed") { [caretaker] in Double(caretaker.removed) }
        metrics.counter("parley_media_entries_refused_total", "Entries of no known layout") { [slots] in
            Double(slots.refusedRequests)
        }
    }

    /// What a client is told when the disk fails, which is logged.
    func failed(_ error: FileError) -> Reply {
        service.log.error("a file could not be read or written", [LogField("reason", error.description)])
        let reason =
            if error.detail != nil { "the storage of files is not reached at the moment" } else if error.isFull {
                "the disk is full"
            } else { "the disk is not available" }
        return Reply(Problem(.unavailable, reason))
    }

    /// An upload is complete.
    func isComplete(_ id: MediaID) { inspections.add(id) }

    // MARK: The bus

    private func receive(_ frame: InboundFrame) {
        switch frame.topic {
        case .erasure: erased.receive(frame)
        case .revocation: revoked.receive(frame)
        case .change, .privateChange: readers.receive(frame)
        case .mediaCommand: receiveRequests(frame)
        default: break
        }
    }

    private func receiveRequests(_ frame: InboundFrame) {
        slots.forEachRequest(in: frame) { (entry, request, _) throws(WireError) in
            try receive(entry, request, from: frame.sender)
        }
    }

    private func receive(_ entry: RequestEntry, _ request: RequestKey, from sender: Role?) throws(WireError) {
        var reader = ByteReader(entry.fields)
        switch try MediaRequestKind(of: entry, from: sender) {
        case .attach:
            let attachment = try AttachMedia(from: &reader)
            bus.begin(request) { carriers.attach(attachment, request) }
        case .copy:
            let copy = try CopyMedia(from: &reader)
            bus.begin(request) { carriers.copy(copy, request) }
        case .release:
            let release = try ReleaseMedia(from: &reader)
            bus.begin(request) { carriers.release(release, request) }
        case .erase:
            let erasure = try EraseMedia(from: &reader)
            bus.begin(request) { carriers.erase(erasure.user, request) }
        }
    }

    // MARK: By the head

    static let tusHeaders = [ResponseHeader("Tus-Resumable", Tus.version.description)]

    static func expiry(_ time: Timestamp) -> ResponseHeader {
        ResponseHeader("Upload-Expires", HTTPDate.text(second: Int(time.milliseconds / 1000)))
    }

    private func route(_ request: Request) -> MediaRoute.Result {
        MediaRoute.find(
            request.method, isHead: request.isHead, override: request[.methodOverride], request.target.path)
    }

    func admit(_ request: Request) -> RequestAdmission {
        switch route(request) {
        case .notFound where service.isAdministration(request): return .admitted(bodyBytes: 0)
        case .notFound: return refused(Refusal(Problem(.notFound, "there is no such resource")))
        case .methodNotAllowed(let allowed): return refused(.methodNotAllowed(allowed))
        case .route(let route):
            do throws(Reply) {
                return try admit(request, route)
            } catch {
                return refused((route.call.isTus ? error.with(Self.tusHeaders) : error).refusal)
            }
        }
    }

    private func refused(_ refusal: Refusal) -> RequestAdmission {
        metrics.responded(refusal.status)
        return .refused(refusal)
    }

    private func admit(_ request: Request, _ route: MediaRoute) throws(Reply) -> RequestAdmission {
        if route.call.isTus { try requireVersion(request) }
        switch route.call {
        case .options: return .admitted(bodyBytes: 0)
        case .create, .append:
            let account = try account(of: request, route.call, streaming: true)
            let head = route.call == .create ? try creation(request) : try appending(request, try route.media())
            return .streamed(UploadCall(self, account, try token(of: request), head))
        case .content, .thumbnail: return .streamed(try reading(request, route))
        case .offset, .terminate, .object, .sign:
            _ = try account(of: request, route.call, streaming: false)
            return .admitted(bodyBytes: 1024)
        }
    }

    private func requireVersion(_ request: Request) throws(Reply) {
        guard let version = request[.tusResumable], version.isEqual(to: Tus.version) else {
            throw Reply(
                Problem(.invalid, "Tus-Resumable: must be \(Tus.version)"), status: 412,
                headers: [ResponseHeader("Tus-Version", Tus.version.description)])
        }
    }

    private func user(of request: Request) throws(Reply) -> UserID {
        if request.connection.userInfo == nil, request.connection.isThrottled {
            throw Reply(Problem(.rateLimited, "too many requests without a valid token came from this address"))
        }
        do throws(Problem) {
            return try authenticator.user(of: request)
        } catch {
            guard error.code == .unauthenticated else { throw Reply(error) }
            request.connection.authenticationFailed()
            throw Reply(error, headers: [Authenticator.challenge(request)])
        }
    }

    private func account(of request: Request, _ call: MediaCall, streaming: Bool) throws(Reply) -> MediaAccount {
        let user = try user(of: request)
        do throws(Problem) {
            let account = try accounts.account(of: user, streaming: streaming)
            try authenticator.refuseSuspended(request, isOpenToReaders: call.isOpenToReaders)
            return account
        } catch { throw Reply(error) }
    }

    private func token(of request: Request) throws(Reply) -> Identity {
        do throws(Problem) { return try authenticator.token(of: request) } catch { throw Reply(error) }
    }

    // MARK: Uploads

    private func creation(_ request: Request) throws(Reply) -> UploadCall.Head {
        if request[.uploadConcat] != nil {
            throw Reply(Problem(.invalid, "Upload-Concat: uploads cannot be joined"))
        }
        guard let field = request[.uploadLength] else {
            throw Reply(Problem(.invalid, "Upload-Length: must be given; it cannot be deferred"))
        }
        guard let size = Tus.number(field) else {
            throw Reply(Problem(.invalid, "Upload-Length: must be a number of bytes"))
        }
        guard size <= limits.fileBytes else {
            throw Reply(Problem(.tooLarge, "Upload-Length: a file has at most \(limits.fileBytes) bytes"))
        }
        guard caretaker.backlog.bytes < limits.backlogBytes else {
            var reply = Reply(
                Problem(.unavailable, "uploads wait for being kept; there is no room for more at the moment"))
            reply.headers = [.retryAfter(seconds: 30)]
            throw reply
        }
        let metadata = try metadata(request), hasBody = request.announcedBodyBytes != 0
        if hasBody { try requireUploadType(request) }
        return UploadCall.Head(
            target: .create(size: size, metadata), checksum: hasBody ? try checksum(request) : nil,
            bodyBytes: request.announcedBodyBytes)
    }

    private func metadata(_ request: Request) throws(Reply) -> UploadMetadata {
        guard let field = request[.uploadMetadata] else { return .none }
        do throws(Problem) { return try UploadMetadata(field) } catch { throw Reply(error) }
    }

    private func appending(_ request: Request, _ id: MediaID) throws(Reply) -> UploadCall.Head {
        try requireUploadType(request)
        guard let offset = request[.uploadOffset].flatMap(Tus.number) else {
            throw Reply(Problem(.invalid, "Upload-Offset: must be a number of bytes"))
        }
        return UploadCall.Head(
            target: .append(id, offset: offset), checksum: try checksum(request),
            bodyBytes: request.announcedBodyBytes)
    }

    private func requireUploadType(_ request: Request) throws(Reply) {
        guard let type = request[.contentType], type.equalsIgnoringCase("application/offset+octet-stream") else {
            throw Reply(
                Problem(.invalid, "Content-Type: must be application/offset+octet-stream"), status: 415)
        }
    }

    private func checksum(_ request: Request) throws(Reply) -> UploadChecksum? {
        guard let field = request[.uploadChecksum] else { return nil }
        do throws(UploadChecksum.Failure) {
            return try UploadChecksum(field)
        } catch {
            let detail =
                error == .unknownAlgorithm
                ? "Upload-Checksum: the algorithms are \(Tus.algorithms)"
                : "Upload-Checksum: must be an algorithm and a digest in base64"
            throw Reply(Problem(.invalid, detail))
        }
    }

    // MARK: Reading

    private func reading(_ request: Request, _ route: MediaRoute) throws(Reply) -> ReadCall {
        let part = try part(of: request, route.call)
        // Unlike a token, an address is for one file, so what is wrong about it may be told.
        if request.target.queryValue("signature") != nil, request[.authorization] == nil {
            let id = try route.media()
            guard signer?.allows(request.target, id, part, at: Timestamp.now.milliseconds / 1000) == true else {
                throw Reply(Problem(.forbidden, "signature: the address is not valid, or not any more"))
            }
            do throws(Problem) { try accounts.requireRoom() } catch { throw Reply(error) }
            return ReadCall(self, nil, readHead(request, id, part, nil))
        }
        let account = try account(of: request, route.call, streaming: true)
        return ReadCall(self, account, readHead(request, try route.media(), part, account.user))
    }

    private func part(of request: Request, _ call: MediaCall) throws(Reply) -> ObjectPart {
        guard call == .thumbnail else { return .content }
        guard let part = ObjectPart(rawValue: request.target.queryValue("size") ?? "small"), part != .content else {
            throw Reply(Problem(.invalid, "size: must be small or large"))
        }
        return part
    }

    private func readHead(_ request: Request, _ id: MediaID, _ part: ObjectPart, _ reader: UserID?) -> ReadCall.Head {
        ReadCall.Head(
            id: id, part: part, reader: reader, isHead: request.isHead,
            ifNoneMatch: request[.ifNoneMatch].map(Array.init),
            ifRange: request[.ifRange].map(Array.init), range: request[.range].map(Array.init))
    }

    // MARK: The whole request

    func handle(_ request: Request, _ responder: Responder) {
        guard case .route(let route) = route(request) else {
            _ = service.respondToAdministration(request, responder)
            return
        }
        guard route.call != .options else { return respond(options, responder) }
        do throws(Reply) {
            let user = try user(of: request), id = try route.media(), call = route.call
            do throws(Problem) {
                try authenticator.refuseSuspended(request, isOpenToReaders: call.isOpenToReaders)
            } catch { throw Reply(error) }
            Reactor.spawn { [self] in
                do throws(Reply) {
                    respond(try await reply(to: call, id, user), responder)
                } catch { respond(call.isTus ? error.with(Self.tusHeaders) : error, responder) }
            }
        } catch { respond(route.call.isTus ? error.with(Self.tusHeaders) : error, responder) }
    }

    private func respond(_ reply: Reply, _ responder: Responder) {
        metrics.responded(reply.status)
        reply.send(to: responder)
    }

    private var options: Reply {
        Reply(
            204,
            headers: Self.tusHeaders + [
                ResponseHeader("Tus-Version", Tus.version.description), ResponseHeader("Tus-Extension", Tus.extensions),
                ResponseHeader("Tus-Max-Size", "\(limits.fileBytes)"),
                ResponseHeader("Tus-Checksum-Algorithm", Tus.algorithms),
            ])
    }

    private func reply(to call: MediaCall, _ id: MediaID, _ user: UserID) async throws(Reply) -> Reply {
        switch call {
        case .offset: return try await offset(of: id, user)
        case .terminate:
            await active.displace(id, of: user)
            try await uploads.terminate(id, of: user)
            readers.forget(id)
            caretaker.wake()
            return Reply(204, headers: Self.tusHeaders)
        case .object:
            var body = ByteBuffer()
            try await readers.object(id, for: user).writeJSON(to: &body)
            return Reply(200, json: body)
        case .sign: return try await signed(id, user)
        case .options, .create, .append, .content, .thumbnail: preconditionFailure("served otherwise")
        }
    }

    /// How far an upload is. A request that still writes it is over: its client would not ask otherwise.
    private func offset(of id: MediaID, _ user: UserID) async throws(Reply) -> Reply {
        _ = try await readers.current(id, of: user)
        await active.displace(id, of: user)
        let object = try await readers.current(id, of: user)
        var headers = Self.tusHeaders + [ResponseHeader("Cache-Control", "no-store")]
        // What is kept of a complete upload may have another size.
        let (offset, size) = object.state == .ready ? (object.size, object.size) : (object.received, object.size)
        headers += [ResponseHeader("Upload-Offset", "\(offset)"), ResponseHeader("Upload-Length", "\(size)")]
        if !object.metadata.isEmpty { headers.append(ResponseHeader("Upload-Metadata", object.metadata)) }
        if object.state == .uploading { headers.append(Self.expiry(object.expiresAt)) }
        return Reply(200, headers: headers)
    }

    private func signed(_ id: MediaID, _ user: UserID) async throws(Reply) -> Reply {
        let object = try await readers.object(id, for: user)
        guard object.state == .ready else {
            throw Reply(Problem(.mediaNotReady, "the file is not ready yet, or refused"))
        }
        guard let signer else { throw Reply.unavailable }
        let expiry = Timestamp.now.milliseconds / 1000 + AddressSigner.lifetimeSeconds
        var body = ByteBuffer()
        body.beginObject()
        body.append(key: "url", json: signer.address(id, .content, until: expiry))
        if object.facts.thumbnails?.isEmpty == false {
            body.append(key: "thumbnailUrls")
            body.beginObject()
            body.append(key: "small", json: signer.address(id, .small, until: expiry))
            body.append(key: "large", json: signer.address(id, .large, until: expiry))
            body.endObject()
        }
        body.append(key: "expiresAt", json: Timestamp(milliseconds: expiry * 1000))
        body.endObject()
        return Reply(200, json: body, headers: [ResponseHeader("Cache-Control", "no-store")])
    }
}
