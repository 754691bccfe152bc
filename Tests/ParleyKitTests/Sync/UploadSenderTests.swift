import Models
import ParleyStorage
import Testing

@testable import ParleySync

@Suite struct UploadSenderTests {
    private func upload(
        _ key: Int64 = 1, size: Int64 = 10, id: MediaID? = mediaId(1), sent: Int64 = 0, takenBack: Bool = false
    ) -> Upload {
        Upload(
            file: OutgoingFile(
                key: key, file: "file-\(key)",
                attachment: Attachment(id: mediaId(77), name: "a.png", type: "image/png", size: size), size: size,
                mediaId: id, sentBytes: sent, isReady: false),
            conversation: takenBack ? nil : talk)
    }

    private func refused(_ code: Problem.Code) -> Result<MediaResponse, CallFailure> {
        .failure(.refused(problem(code), retryAfter: nil))
    }

    /// What is asked for one upload, which then waits for its response.
    private func next(
        _ sender: inout UploadSender, _ upload: Upload, at now: Duration = .zero
    ) throws -> (id: Int, call: MediaCall) {
        try #require(sender.plan([upload], at: now).first)
    }

    @Test("an upload is created, appended to in pieces, and looked at until it is ready")
    func wholeWay() throws {
        var sender = UploadSender(seed: 1)
        let size = Int64(UploadSender.firstPiece) + 5
        var call = try next(&sender, upload(size: size, id: nil))
        #expect(call.call == .create(size: size, name: "a.png", type: "image/png"))
        #expect(sender.plan([upload(size: size, id: nil)], at: .zero).isEmpty)
        #expect(sender.handle(.success(.created(mediaId(1))), for: call.id, at: .zero).writes == [.created(mediaId(1))])
        call = try next(&sender, upload(size: size))
        #expect(call.call == .append(mediaId(1), file: "file-1", from: 0, count: UploadSender.firstPiece))
        let sent = size - 5
        let step = sender.handle(.success(.offset(sent, ofSize: nil)), for: call.id, at: .zero)
        #expect(step.writes == [.acknowledged(bytes: sent)])
        call = try next(&sender, upload(size: size, sent: sent))
        #expect(call.call == .append(mediaId(1), file: "file-1", from: sent, count: 5))
        _ = sender.handle(.success(.offset(size, ofSize: nil)), for: call.id, at: .zero)
        call = try next(&sender, upload(size: size, sent: size))
        #expect(call.call == .describe(mediaId(1)))
        let attachment = Attachment(id: mediaId(1), name: "a.png", type: "image/png", size: 8)
        _ = sender.handle(.success(.described(UploadedFile(attachment, .processing))), for: call.id, at: .zero)
        #expect(sender.plan([upload(size: size, sent: size)], at: .zero).isEmpty)
        let due = try #require(sender.wakeAt)
        #expect(due > .zero && due <= .seconds(5))
        call = try next(&sender, upload(size: size, sent: size), at: due)
        let last = sender.handle(.success(.described(UploadedFile(attachment, .ready))), for: call.id, at: due)
        #expect(last.writes == [.ready(attachment)])
    }

    @Test("whoever does not know how much the server has asks, and goes on from there")
    func resumes() throws {
        var sender = UploadSender(seed: 1)
        var call = try next(&sender, upload(sent: 4))
        #expect(call.call == .offset(mediaId(1)))
        let step = sender.handle(.success(.offset(7, ofSize: 10)), for: call.id, at: .zero)
        #expect(step.writes == [.acknowledged(bytes: 7)])
        call = try next(&sender, upload(sent: 7))
        #expect(call.call == .append(mediaId(1), file: "file-1", from: 7, count: 3))
        // The response is lost: it is asked again, after a pause.
        _ = sender.handle(.failure(.lost), for: call.id, at: .zero)
        #expect(sender.plan([upload(sent: 7)], at: .zero).isEmpty)
        let later = try #require(sender.wakeAt)
        #expect(try next(&sender, upload(sent: 7), at: later).call == .offset(mediaId(1)))
    }

    @Test("a picture that the server keeps in another form is complete, whatever its size is there")
    func otherForm() throws {
        var sender = UploadSender(seed: 1)
        let call = try next(&sender, upload(sent: 4))
        let step = sender.handle(.success(.offset(6, ofSize: 6)), for: call.id, at: .zero)
        #expect(step.writes.isEmpty)
        #expect(try next(&sender, upload(sent: 4)).call == .describe(mediaId(1)))
    }

    @Test("an upload that has ended begins anew, when the server says so in its own words")
    func expiry() throws {
        var sender = UploadSender(seed: 1)
        var call = try next(&sender, upload(sent: 4))
        #expect(sender.handle(refused(.notFound), for: call.id, at: .zero).writes.isEmpty)
        call = try next(&sender, upload(sent: 4))
        #expect(call.call == .describe(mediaId(1)))
        #expect(sender.handle(refused(.notFound), for: call.id, at: .zero).writes == [.lost])
        #expect(sender.isPaused)
    }

    @Test("a server that refuses every piece is not asked for ever")
    func refusals() throws {
        var sender = UploadSender(seed: 1)
        var now = Duration.zero
        var writes: [UploadWrite] = []
        for _ in 0..<10 where writes.isEmpty {
            let offset = try next(&sender, upload(), at: now)
            #expect(offset.call == .offset(mediaId(1)))
            _ = sender.handle(.success(.offset(0, ofSize: 10)), for: offset.id, at: now)
            let append = try next(&sender, upload(), at: now)
            writes = sender.handle(refused(.invalid), for: append.id, at: now).writes
            now = sender.wakeAt ?? now
        }
        #expect(writes == [.refused(problem(.invalid))])
    }

    @Test("what the server refuses fails the message, with the reason")
    func reasons() throws {
        var sender = UploadSender(seed: 1)
        var call = try next(&sender, upload(id: nil))
        #expect(
            sender.handle(refused(.tooLarge), for: call.id, at: .zero).writes == [.refused(.refusedFile("tooLarge"))])
        call = try next(&sender, upload(sent: 10))
        let attachment = Attachment(id: mediaId(1), name: "a.png", type: "image/png", size: 8)
        let described = UploadedFile(attachment, .refused, reason: "tooLarge")
        guard case .refused(let why) = sender.handle(.success(.described(described)), for: call.id, at: .zero).writes[0]
        else { return #expect(Bool(false)) }
        #expect(why == .refusedFile("tooLarge"))
    }

    @Test("a user who may upload no more today is told; a server that is busy for a while is waited for")
    func dailyLimit() throws {
        func limited(_ wait: Duration) -> Result<MediaResponse, CallFailure> {
            .failure(.refused(problem(.rateLimited), retryAfter: wait))
        }
        var sender = UploadSender(seed: 1)
        var call = try next(&sender, upload(id: nil))
        #expect(sender.handle(limited(.seconds(60)), for: call.id, at: .zero).writes.isEmpty)
        let later = try #require(sender.wakeAt)
        #expect(later >= .seconds(60))
        call = try next(&sender, upload(id: nil), at: later)
        let step = sender.handle(limited(.seconds(3600)), for: call.id, at: later)
        #expect(step.writes == [.refused(.refusedFile("tooMuch"))])
        #expect(!sender.isPaused)
    }

    @Test("a server that has every byte and still waits for some is asked less and less often")
    func neverDone() throws {
        var sender = UploadSender(seed: 1)
        var now = Duration.zero
        let attachment = Attachment(id: mediaId(1), name: "a.png", type: "image/png", size: 10)
        var calls = 0
        while now < .seconds(60), calls < 1_000 {
            guard let (id, call) = sender.plan([upload(sent: 10)], at: now).first else {
                now = try #require(sender.wakeAt)
                continue
            }
            calls += 1
            let response: MediaResponse =
                if case .offset = call { .offset(10, ofSize: 10) } else {
                    .described(UploadedFile(attachment, .uploading))
                }
            _ = sender.handle(.success(response), for: id, at: now)
        }
        #expect(calls < 60)
    }

    @Test("what was taken back is removed from the server, if it is there")
    func takingBack() throws {
        var sender = UploadSender(seed: 1)
        let unknown = upload(1, id: nil, takenBack: true)
        #expect(sender.isRemovable(unknown))
        #expect(sender.plan([unknown], at: .zero).isEmpty)
        let known = upload(2, takenBack: true)
        #expect(!sender.isRemovable(known))
        let call = try next(&sender, known)
        #expect(call.call == .terminate(mediaId(1)))
        // A message carries it after all, or it has gone by itself.
        #expect(sender.handle(refused(.conflict), for: call.id, at: .zero).writes == [.removed])
        // One that is being created is waited for.
        let creating = try next(&sender, upload(3, id: nil))
        #expect(!sender.isRemovable(upload(3, id: nil, takenBack: true)))
        _ = sender.handle(.success(.created(mediaId(3))), for: creating.id, at: .zero)
        #expect(try next(&sender, upload(3, id: mediaId(3), takenBack: true)).call == .terminate(mediaId(3)))
    }

    @Test(
        "a slow network gets small pieces, a fast one large ones, and a refused token nothing before there is a fresh one"
    )
    func pieces() throws {
        var sender = UploadSender(seed: 1)
        var now = Duration.zero
        let whole = upload(size: 1 << 40)
        func piece() throws -> (id: Int, count: Int) {
            while true {
                let call = try next(&sender, whole, at: now)
                if case .append(_, _, _, let count) = call.call { return (call.id, count) }
                _ = sender.handle(.success(.offset(0, ofSize: 1 << 40)), for: call.id, at: now)
            }
        }
        for _ in 0..<10 { _ = sender.handle(.success(.offset(0, ofSize: nil)), for: try piece().id, at: now) }
        var last = try piece()
        #expect(last.count == UploadSender.largestPiece)
        for _ in 0..<12 {
            _ = sender.handle(.failure(.lost), for: last.id, at: now)
            now = try #require(sender.wakeAt)
            last = try piece()
        }
        #expect(last.count == 32 * 1024)
        #expect(sender.handle(refused(.unauthenticated), for: last.id, at: now).needsFreshToken)
        #expect(sender.plan([whole], at: now).isEmpty)
        sender.tokenArrived()
        #expect(!sender.plan([whole], at: now).isEmpty)
    }

    @Test("a message whose files are not there yet holds back those behind it, and no other conversation")
    func order() {
        var sender = OutboxSender(seed: 1)
        let other = ConversationID(UUIDBytes(high: 1, low: 2))
        func row(_ key: Int64, in conversation: ConversationID = talk, files: Int = 0) -> OutboxRow {
            OutboxRow(
                key: key, conversation: conversation, message: messageId(UInt64(key)), write: send("\(key)"),
                idempotencyKey: .zero, at: time(0), fileCount: files)
        }
        var rows = [row(1), row(2, files: 1), row(3), row(4, in: other)]
        #expect(sender.plan(rows, at: .zero).map { $0.call.rows.map(\.key) } == [[1, 4]])
        sender = OutboxSender(seed: 1)
        rows[1].files = [
            OutgoingFile(
                key: 1, file: "a", attachment: Attachment(id: mediaId(1), name: "a", type: "b", size: 1), size: 1,
                mediaId: mediaId(1), sentBytes: 1, isReady: true)
        ]
        // It may be refused, so nothing of its conversation goes with it behind it.
        #expect(sender.plan(rows, at: .zero).map { $0.call.rows.map(\.key) } == [[1, 2, 4]])
    }
}
