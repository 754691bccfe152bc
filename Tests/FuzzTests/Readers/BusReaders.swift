import Bytes
import Models
import Wire

private let conversation = ConversationID(UUIDBytes("01890000-0000-7000-8000-0000000000c5")!)
private let message = MessageID(UUIDBytes("01890000-0000-7000-8000-00000000aaaa")!)
private let media = MediaID(UUIDBytes("01890000-0000-7000-8000-00000000bbbb")!)
private let alice = UserID("alice")!
private let bob = UserID("bob")!
private let someTime = Timestamp(milliseconds: 1_795_280_400_123)
private let head = ConversationQuery(conversation, reader: alice)

extension Reader {
    /// Frames. What is taken is written again with the same bytes, so nothing in them was passed over.
    static let frame = Reader(
        "frame", examples: [exampleFrame(.change(SlotGroup(3))), exampleFrame(.response(Instance(7)))]
    ) {
        bytes in
        guard let frame = try? FrameReader(bytes) else { return nil }
        var writer = FrameWriter(topic: frame.topic, origin: frame.origin)
        for entry in frame.entries {
            guard bytes.contains(entry) else { return false }
            writer.append { $0.append(entry) }
        }
        return writer.bytes.elementsEqual(bytes)
    }

    private static func exampleFrame(_ topic: Topic) -> [UInt8] {
        var writer = FrameWriter(topic: topic, origin: Instance(0x0102_0304_0506_0708))
        for example in layouts[0].examples + layouts[1].examples { writer.append { $0.append(example) } }
        return Array(writer.bytes)
    }

    /// Entries of every layout. The first byte says which, so that one run of libFuzzer looks into all of them.
    static let entry = Reader(
        "entry",
        examples: layouts.enumerated().flatMap { number, layout in layout.examples.map { [UInt8(number)] + $0 } }
    ) { bytes in
        guard let first = bytes.first, Int(first) < layouts.count else { return nil }
        return layouts[Int(first)].take(UnsafeRawBufferPointer(rebasing: bytes.dropFirst()))
    }

    /// Numbered by their places, which findings rely on: new ones go to the end.
    private static let layouts: [Reader] = [
        layout(
            CreateConversation(conversation: conversation, kind: .group, creator: alice, title: "Hé", members: [bob])),
        layout(ReceiptSignal(conversation, user: bob, delivered: 5, read: 0)),
        layout(
            ListConversations(
                reader: bob, limit: 50, before: ActivityCursor(lastActivityAt: someTime, conversation: conversation))),
        layout(head), layout(InvitationQuery(head, secret: message.uuid)),
        layout(MembersQuery(head, after: "", limit: 100)),
        layout(
            HistoryQuery(head, anchor: .around(7), limit: 2), HistoryQuery(head, anchor: .latest, limit: 2)),
        layout(MessageQuery(head, message: message)), layout(AfterPositionQuery(head, after: 9, limit: 200)),
        layout(AfterUserQuery(MessageQuery(head, message: message), after: "bob", limit: 3)),
        layout(
            EphemeralEntry.typing(conversation, bob, isActive: true), .superseded(bob, device: "tv", age: 9), .alive,
            .presence(
                PresenceList(
                    conversation, asks: true, online: [bob],
                    departed: [PresenceList.Departure(alice, lastSeen: someTime)],
                    blocked: [BlockMarks(bob, hashes: [7])])),
            .profile(ProfileNews(bob, version: 7, [conversation]))),
        layout(StreamPositions([StreamPosition(.user(bob), 4), StreamPosition(.conversation(conversation), 4)])),
        layout(ReplayQuery(conversation, after: 1, through: 3, limit: 1000)),
        layout(PrivateReplayQuery(bob, after: 2, limit: 5)),
        layout(
            DigestEntry(
                slot: Slot(0xC5), epoch: 3, number: 8, moved: [StreamPosition(.conversation(conversation), 12)])),
        layout(StatusQuery(conversation, after: 6)),
        layout(
            Write(conversation, by: bob, key: nil, .setTapback(message, "like")),
            Write(conversation, by: bob, key: message.uuid, .edit(message, text: "té")),
            Write(conversation, by: bob, key: nil, .putMember(alice, .owner)),
            Write(conversation, by: bob, key: nil, .putMember(alice, nil, Introduction([.asked], peoplePerDay: 7))),
            Write(conversation, by: bob, key: nil, .clearHistory(through: 7)),
            Write(conversation, by: bob, key: nil, .putSettings(readReceipts: .inherit)),
            Write(conversation, by: bob, key: nil, .mark(.pinned(order: -7))),
            Write(conversation, by: bob, key: nil, .block(alice, true)),
            Write(conversation, by: bob, key: nil, .draft("té", replyTo: message)),
            Write(conversation, by: bob, key: nil, .acceptRequest),
            Write(
                conversation, by: bob, key: nil,
                .schedule(
                    NewScheduled(message, at: Timestamp(milliseconds: 7), mentions: "bob", extra: "{}", text: "té"))),
            Write(conversation, by: bob, key: nil, .setPermissions(GroupPermissions(write: .admins))),
            Write(conversation, by: bob, key: nil, .setLifetime(seconds: 60)),
            Write(conversation, by: bob, key: nil, .setLifetime(seconds: 60, from: .reading)),
            Write(conversation, by: bob, key: nil, .liftBan(alice)),
            Write(
                conversation, by: bob, key: nil,
                .createInvitation(
                    NewInvitation(id: InvitationID(message.uuid), secret: message.uuid, expiresAt: someTime, maxUses: 2)
                )),
            Write(
                conversation, by: bob, key: nil,
                .createInvitation(
                    NewInvitation(id: InvitationID(message.uuid), secret: message.uuid, needsApproval: true))),
            Write(conversation, by: bob, key: nil, .declineJoinRequest(alice)),
            Write(conversation, by: bob, key: nil, .editSealed(message, "c2VhbA==")),
            Write(conversation, by: bob, key: nil, .join(secret: message.uuid)),
            Write(
                conversation, by: bob, key: nil,
                .report(NewReport(id: ReportID(message.uuid), user: alice, reason: .spam, text: "té"))),
            Write(
                conversation, by: bob, key: nil,
                .resolveReport(ReportResolution(of: ReportID(message.uuid), .removed, note: "té"))),
            Write(conversation, by: bob, key: nil, .setRetention(days: 7)),
            Write(conversation, by: bob, key: nil, .pinMessage(message)),
            Write(conversation, by: bob, key: nil, .vote(message, PollOptions(bits: 0b101))),
            Write(conversation, by: bob, key: nil, .deleteForEveryone(message))),
        layout(SendScheduled(of: bob, in: conversation)),
        layout(TrimHistory(in: conversation, days: 7)),
        layout(ScheduledQuery(bob, in: nil, after: 7, limit: 100)),
        layout(
            VotesQuery(
                AfterUserQuery(
                    MessageQuery(ConversationQuery(conversation, reader: bob), message: message), after: "a", limit: 1),
                option: 3)),
        layout(PinnedMessagesQuery(ConversationQuery(conversation, reader: bob), before: 7, limit: 100)),
        layout(
            SyncQuery(
                bob,
                since: SyncCursor(
                    logID: message.uuid, useq: 1, transaction: 2, nextTransaction: 3, after: ConversationID(.zero))),
            SyncQuery(bob, since: nil)),
        layout(ReadPositions([ReadPositions.Entry(bob, conversation, readSeq: 9)])),
        layout(PutSettings(bob, key: nil, readReceipts: .no, presence: .leave)),
        layout(PutProfile(bob, key: nil, displayName: "Bé", avatarURL: "https://a/b", extra: #"{"a":[1]}"#)),
        layout(ProfilesQuery(reader: bob, readsAll: false, [ProfilesQuery.Item(alice, version: 7)])),
        layout(EraseStep(bob, .content(conversation, after: 7)), EraseStep(bob, .remains)),
        layout(
            ImportReceipts(
                conversation,
                [
                    ImportReceipt(.delivered, by: bob, through: message, at: someTime),
                    ImportReceipt(.read, by: alice, through: message, at: someTime),
                ])),
        layout(DropImport(conversation, receiptsAreGone: true)), layout(DropReceipts(conversation)),
        layout(EraseReceipts(conversation, of: bob)), layout(ErasedUsersQuery(Slot(0xC5), after: 3)),
        layout(ErasureEntry(Slot(0xC5), count: 3, latest: bob), ErasureEntry(Slot(0xC5), count: 3)),
        layout(RevokeTokens(bob, before: someTime)), layout(Revocation(number: 7, bob, before: someTime)),
        layout(Revocation(number: 7, bob, before: someTime, .only(DeviceID("phone")!))),
        layout(EndDevices(bob, .allBut(DeviceID("phone")!), before: someTime)),
        layout(NoteDevice(bob, DeviceID("phone")!)), layout(DevicesQuery(bob, current: DeviceID("phone"))),
        layout(RevocationsQuery(Slot(0xC5), after: 3)),
        layout(SuspendUser(bob, .readOnly, until: someTime, reason: "x")), layout(SuspensionQuery(bob)),
        layout(RecordAct(message.uuid, by: bob, for: alice, call: "putMember", in: conversation, target: "carol")),
        layout(EndAct(message.uuid, status: 204)), layout(ActsQuery(by: bob, after: 3, limit: 100)),
        layout(HeldSuspension(number: 7, bob, .out, until: someTime)),
        layout(
            ListedRevocation.suspension(HeldSuspension(number: 7, bob, .out)),
            .tokens(Revocation(number: 7, bob, before: someTime))),
        layout(
            RevocationEntry(Slot(0xC5), number: 3), RevocationEntry(Revocation(number: 7, bob, before: someTime)),
            RevocationEntry(.suspension(HeldSuspension(number: 7, bob, .out)))),
        layout(SeenUsers([bob, alice])), layout(SenderCountsQuery(conversation)), layout(EraseUser(bob)),
        layout(LastSeen([PresenceList.Departure(bob, lastSeen: someTime)])),
        layout(PeersQuery(of: bob, in: [conversation])), layout(Peers([.init(bob, lastAt: someTime)])),
        layout(
            SearchQuery(
                reader: alice, conversation: nil,
                before: SearchCursor(at: someTime, conversation: conversation, seq: 7, isForParts: true), limit: 20,
                text: "té")),
        layout(
            Bootstrap(
                logID: conversation.uuid, serverTime: someTime, useq: 7, hasMore: true,
                stays: [
                    Bootstrap.Stay(
                        conversation: conversation, lastSeq: 9, from: 2, through: nil, statusVersion: 3,
                        memberCount: 4)
                ], conversations: Array("[]".utf8), showsPresence: true, blocked: [alice])),
        layout(Problem(.notFound, "no")),
        request, response, sendMessages, importRecords, exportHead, exportPage, change, privateChange, status,
        senderCounts, attachments, forwarded,
        layout(MayReadAttachment(media, of: message, by: bob, in: conversation, reader: nil)),
        layout(WrittenMessages([.init(message), .init(message, text: "ü")], in: conversation, by: bob)),
        layout(WrittenMessages.Answer(isInConversation: true, areWritten: [true, false])),
        layout(UserRowsQuery(["a.b"], of: [bob], in: [conversation])),
        layout(UserRowsAnswer(["a.b": [.init(slot: conversation.slot, rowCount: 1, text: Array("{1}".utf8))]])),
        layout(StatementQuery([.init("a", values: [[7], nil], borrowed: [0])], for: .user(bob), texts: [[1]])),
        layout(StatementAnswer(errorCode: "57014", rows: [1])),
        layout(AttachMedia(conversation, by: bob, [MessageMedia(message, [media])])),
        layout(CopyMedia(MessageMedia(message, [media]), in: conversation, for: message, in: conversation, by: bob)),
        layout(ReleaseMedia(conversation, by: bob, MessageMedia(message, [media]))), layout(EraseMedia(of: bob)),
        layout(ReportQuery(head, report: ReportID(message.uuid))),
        layout(ReportsQuery(by: bob, in: Slot(0xC5), areOpen: true, limit: 50, after: reportPlace)), reports,
    ]

    private static let reportPlace = ReportCursor(
        createdAt: someTime, conversation: conversation, report: ReportID(message.uuid))

    /// Read by ingest, which borrows the bytes of the reports.
    private static let reports = Reader(
        "ReportsOfSlot",
        examples: [
            written { buffer in
                ReportsOfSlot.writeHead(hasMore: true, to: &buffer)
                for json in ["{}", #"{"text":"té"}"#] {
                    ReportsOfSlot.append(at: reportPlace, to: &buffer) { $0.append(utf8: json) }
                }
            }
        ]
    ) { bytes in
        var reader = ByteReader(bytes)
        guard (try? ReportsOfSlot.readHead(from: &reader)) != nil else { return nil }
        var areInside = true
        do throws(WireError) {
            while let (_, json) = try ReportsOfSlot.next(from: &reader) {
                areInside = areInside && bytes.contains(json)
            }
            return areInside
        } catch { return nil }
    }

    /// What is taken is written and read again as the same.
    private static func layout<Value: WireCodable>(_ examples: Value...) -> Reader {
        Reader("\(Value.self)", examples: examples.map { value in written { value.write(to: &$0) } }) { bytes in
            var reader = ByteReader(bytes)
            guard let value = try? Value(from: &reader) else { return nil }
            let first = written { value.write(to: &$0) }
            return first.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes)
                guard let again = try? Value(from: &reader) else { return false }
                return written { again.write(to: &$0) } == first
            }
        }
    }

    private static func written(_ body: (inout ByteBuffer) -> Void) -> [UInt8] {
        var buffer = ByteBuffer()
        body(&buffer)
        return buffer.array
    }

    // MARK: Layouts that borrow their bytes

    private static let request = Reader(
        "RequestEntry",
        examples: [nil, TraceContext(trace: message.uuid, parent: 7)].map { trace in
            written { buffer in
                RequestEntry.write(RequestNumber(1), Slot(5), kind: 3, trace: trace, to: &buffer) { $0.append([9]) }
            }
        }
    ) { bytes in
        guard let entry = try? RequestEntry(bytes) else { return nil }
        return bytes.contains(entry.fields)
    }

    private static let response = Reader(
        "ResponseEntry",
        examples: [written { ResponseEntry.write(RequestNumber(1), status: 200, to: &$0) { $0.append([1, 2]) } }]
    ) { bytes in (try? ResponseEntry(bytes)).map { bytes.contains($0.payload) } }

    private static let sendMessages = Reader("SendMessages", examples: [exampleMessages]) { bytes in
        var reader = ByteReader(bytes)
        guard let request = try? SendMessages(from: &reader) else { return nil }
        var areInside = true
        do throws(WireError) {
            try request.forEachMessage { message in
                areInside = areInside && bytes.contains(message.text) && bytes.contains(message.mentions)
                // As the store passes it to the database.
                _ = message.sentAt.postgresMicroseconds
            }
            return areInside
        } catch {
            return areInside ? nil : false
        }
    }

    private static let attachments = Reader("SendMessages, polls", examples: [exampleAttachments]) { bytes in
        var reader = ByteReader(bytes)
        guard let request = try? SendMessages(from: &reader, .poll) else { return nil }
        var areInside = true
        do throws(WireError) {
            try request.forEachMessage { message in
                message.attachments.forEach { areInside = areInside && bytes.contains($0.descriptor) }
                areInside = areInside && bytes.contains(message.extra)
            }
            return areInside
        } catch {
            return areInside ? nil : false
        }
    }

    private static let forwarded = Reader(
        "SendMessages, forwarded",
        examples: [
            written { buffer in
                SendMessages.writeHead(conversation, alice, count: 1, to: &buffer)
                let none = UnsafeRawBufferPointer(start: nil, count: 0)
                var forward = Forward(
                    of: MessageQuery(ConversationQuery(conversation, reader: alice), message: message),
                    showsOrigin: true)
                forward.origin = Forwarded(userId: bob, sentAt: someTime)
                forward.withEncoded { forward in
                    NewMessage(
                        id: message, sentAt: someTime, replyTo: nil, mentions: none, text: none, forward: forward
                    ).write(to: &buffer, .forwarded)
                }
            }
        ]
    ) { bytes in
        var reader = ByteReader(bytes)
        guard let request = try? SendMessages(from: &reader, .forwarded) else { return nil }
        var areInside = true
        do throws(WireError) {
            try request.forEachMessage { areInside = areInside && bytes.contains($0.text) && $0.forward != nil }
            return areInside
        } catch {
            return areInside ? nil : false
        }
    }

    private static let exampleAttachments = written { buffer in
        SendMessages.writeHead(conversation, alice, count: 1, to: &buffer)
        let list = written { buffer in
            buffer.append(1 as UInt8)
            Array("{}".utf8).withUnsafeBytes { AttachedFile(media, .ready, descriptor: $0).write(to: &buffer) }
        }
        list.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            guard let attachments = try? AttachmentList(from: &reader) else { preconditionFailure("a list of one") }
            let none = UnsafeRawBufferPointer(start: nil, count: 0)
            NewPoll(options: ["a", "b"], isMultiple: true).withEncoded { poll in
                NewMessage(
                    id: message, sentAt: someTime, replyTo: nil, mentions: none, text: none, attachments: attachments,
                    extra: none, isSealed: true, poll: poll
                ).write(to: &buffer, .poll)
            }
        }
    }

    private static let importRecords = Reader("ImportRecords", examples: [exampleRecords]) { bytes in
        var reader = ByteReader(bytes)
        guard let request = try? ImportRecords(from: &reader) else { return nil }
        var areInside = true
        do throws(WireError) {
            try request.forEachRecord { record in
                guard case .message(let message) = record else { return }
                areInside = areInside && message.texts.allSatisfy { bytes.contains($0.text) }
                areInside = areInside && bytes.contains(message.attachments) && bytes.contains(message.extra)
                // As the store passes it to the database.
                _ = message.createdAt.postgresMicroseconds
            }
            return areInside
        } catch {
            return areInside ? nil : false
        }
    }

    private static let exportHead = Reader("ExportHead", examples: [exampleHead]) { bytes in
        var reader = ByteReader(bytes)
        guard let head = try? ExportHead(from: &reader) else { return nil }
        return head.stays.allSatisfy { $0.lowerBound >= 0 }
    }

    private static let exampleHead = written { buffer in
        let opening = ImportRecord.Conversation(kind: .group, createdAt: someTime, title: "t", members: [alice])
        ExportHead(lastSeq: 9, opening: opening, stays: [2...3, 5...Int64.max]).write(to: &buffer)
    }

    private static let exportPage = Reader("ExportPage", examples: [examplePage]) { bytes in
        var reader = ByteReader(bytes)
        guard let page = try? ExportPage(from: &reader) else { return nil }
        var areInside = true
        do throws(WireError) {
            try page.forEachRecord { _, record in
                guard case .message(let message) = record else { return }
                areInside = areInside && message.texts.allSatisfy { bytes.contains($0.text) }
                areInside = areInside && bytes.contains(message.attachments) && bytes.contains(message.extra)
            }
            return areInside
        } catch {
            return areInside ? nil : false
        }
    }

    private static let examplePage = written { buffer in
        ExportPage.writeHead(state: 3, covered: 2, stayCount: 1, viewEnd: .max, to: &buffer)
        ExportPage.append(
            .member(ImportRecord.MemberChange(.memberAdded, of: alice, at: someTime, by: nil)), at: 1, to: &buffer)
        ExportPage.append(.end, at: 2, to: &buffer)
    }

    private static let exampleRecords = written { buffer in
        ImportRecords.writeHead(conversation, count: 9, to: &buffer)
        Array("one".utf8).withUnsafeBytes { text in
            ImportRecord.message(
                ImportRecord.Message(
                    id: message, sender: alice, replyTo: nil, createdAt: someTime, deletedAt: nil,
                    texts: [.init(text, at: someTime)], attachments: text)
            ).write(to: &buffer)
            ImportRecord.message(
                ImportRecord.Message(
                    id: message, sender: alice, replyTo: nil, createdAt: someTime, deletedAt: nil,
                    texts: [.init(text, at: someTime)], extra: text)
            ).write(to: &buffer)
            ImportRecord.message(
                ImportRecord.Message(
                    id: message, sender: alice, replyTo: message, createdAt: someTime, deletedAt: nil,
                    texts: [.init(text, at: someTime)])
            ).write(to: &buffer)
            ImportRecord.message(
                ImportRecord.Message(
                    id: message, sender: alice, replyTo: nil, createdAt: someTime, deletedAt: nil,
                    texts: [.init(text, at: someTime)], poll: NewPoll(options: ["a", "b"], isMultiple: true))
            ).write(to: &buffer)
        }
        let options = PollOptions(bits: 0b11)
        ImportRecord.vote(ImportRecord.Vote(message: message, user: bob, options: options, at: someTime)).write(
            to: &buffer)
        ImportRecord.pollClosed(ImportRecord.PollClosing(of: message, at: someTime, by: nil)).write(to: &buffer)
        ImportRecord.conversation(
            ImportRecord.Conversation(kind: .group, createdAt: someTime, title: "t", members: [alice])
        ).write(to: &buffer)
        let change = ImportRecord.MemberChange(.memberAdded, of: alice, at: someTime, by: nil)
        ImportRecord.member(change).write(to: &buffer)
        ImportRecord.end.write(to: &buffer)
    }

    private static let exampleMessages = written { buffer in
        SendMessages.writeHead(conversation, alice, count: 2, to: &buffer)
        for text in ["one", "two"] {
            Array(text.utf8).withUnsafeBytes { text in
                NewMessage(id: message, sentAt: someTime, replyTo: message, mentions: text, text: text).write(
                    to: &buffer)
            }
        }
    }

    private static let change = Reader(
        "ChangeEntry",
        examples: [nil, TraceContext(trace: message.uuid, parent: 7)].map { trace in
            written { buffer in
                ChangeEntry.write(
                    conversation, seq: 9, .messageEdited, trace: trace, user: "alice", messageSeq: 4, to: &buffer,
                    head: { $0.append(utf8: #"{"seq":9"#) }, rest: { $0.append(utf8: "}") })
            }
        }
    ) { bytes in
        var reader = ByteReader(bytes)
        guard let entry = try? ChangeEntry(from: &reader) else { return nil }
        return bytes.contains(entry.json) && bytes.contains(entry.head) && bytes.contains(entry.user)
            && entry.head.count <= entry.json.count
    }

    private static let privateChange = Reader(
        "PrivateEntry",
        examples: [
            written { buffer in
                PrivateEntry.write(bob, useq: 4, .conversationJoined, conversation, seq: 2, detail: 3, to: &buffer) {
                    $0.append(utf8: "{}")
                }
            }
        ]
    ) { bytes in
        var reader = ByteReader(bytes)
        return (try? PrivateEntry(from: &reader)).map { bytes.contains($0.json) }
    }

    private static let status = Reader(
        "StatusEntry",
        examples: [written { StatusEntry.write(conversation, version: 4, to: &$0) { $0.append(utf8: "{}") } }]
    ) { bytes in
        var reader = ByteReader(bytes)
        return (try? StatusEntry(from: &reader)).map { bytes.contains($0.json) }
    }

    private static let senderCounts = Reader("SenderCounts", examples: [exampleCounts]) { bytes in
        var reader = ByteReader(bytes)
        guard let counts = try? SenderCounts(from: &reader) else { return nil }
        var areInside = true
        do throws(WireError) {
            try counts.forEachSender { _, json in areInside = areInside && bytes.contains(json) }
            return areInside
        } catch {
            return areInside ? nil : false
        }
    }

    private static let exampleCounts = written { buffer in
        SenderCounts.writeHead(version: 9, at: someTime, to: &buffer)
        for sender in [alice, bob] { SenderCounts.writeEntry(sender, to: &buffer) { $0.append(utf8: "[]") } }
    }
}
