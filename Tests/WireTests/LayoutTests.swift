import Bytes
import JSON
import Models
import TestSupport
import Testing

@testable import Wire

private let conversation = ConversationID(UUIDBytes("01890000-0000-7000-8000-0000000000c5")!)
private let message = MessageID(UUIDBytes("01890000-0000-7000-8000-00000000aaaa")!)
private let media = MediaID(UUIDBytes("01890000-0000-7000-8000-00000000bbbb")!)
private let alice = UserID("alice")!
private let bob = UserID("bob")!
private let head = ConversationQuery(conversation, reader: alice)

private func encoded(_ value: some WireCodable) -> [UInt8] {
    var buffer = ByteBuffer()
    value.write(to: &buffer)
    return buffer.array
}

private func decode<Value: WireCodable>(_: Value.Type, _ bytes: [UInt8]) throws -> Value {
    try bytes.withUnsafeBytes { raw in
        var reader = ByteReader(raw)
        return try Value(from: &reader)
    }
}

private func hex(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

/// A value of every layout, with its golden bytes: any change of these is a change of the protocol.
private let goldenBytes: [(any WireCodable & Hashable, String)] = [
    (
        CreateConversation(conversation: conversation, kind: .group, creator: alice, title: "Hé", members: [bob]),
        "018900000000700080000000000000c5" + "01" + "05616c696365" + "000348c3a9" + "000103626f62"
    ),
    (
        CreateConversation(
            conversation: conversation, kind: .direct, creator: alice, title: "", members: [bob],
            Introduction([.declined], peoplePerDay: 20)),
        "018900000000700080000000000000c5" + "02" + "05616c696365" + "0000" + "000103626f62" + "001403"
    ),
    (
        ListConversations(
            reader: bob, limit: 50,
            before: ActivityCursor(lastActivityAt: Timestamp(milliseconds: 1), conversation: conversation)),
        "03626f62" + "0032" + "0000000000000001" + "018900000000700080000000000000c5"
    ),
    (
        InvitationQuery(head, secret: message.uuid),
        "018900000000700080000000000000c5" + "05616c696365" + "0189000000007000800000000000aaaa"
    ),
    (
        NewInvitation(
            id: InvitationID(conversation.uuid), secret: message.uuid, expiresAt: Timestamp(milliseconds: 1), maxUses: 2
        ),
        "018900000000700080000000000000c5" + "0189000000007000800000000000aaaa" + "0000000000000001" + "00000002"
    ),
    (
        NewReport(id: ReportID(conversation.uuid), message: message, user: bob, reason: .selfHarm, text: "x"),
        "018900000000700080000000000000c5" + "0189000000007000800000000000aaaa" + "03626f62" + "05" + "78"
    ),
    (
        NewReport(id: ReportID(conversation.uuid), user: bob, reason: .spam),
        "018900000000700080000000000000c5" + "00000000000000000000000000000000" + "03626f62" + "01"
    ),
    (
        ReportResolution(of: ReportID(conversation.uuid), .removed, note: "x"),
        "018900000000700080000000000000c5" + "03" + "78"
    ),
    (
        ReportQuery(head, report: ReportID(message.uuid)),
        "018900000000700080000000000000c5" + "05616c696365" + "0189000000007000800000000000aaaa"
    ),
    (
        ReportsQuery(
            by: bob, in: Slot(0xC5), areOpen: true, limit: 50,
            after: ReportCursor(
                createdAt: Timestamp(milliseconds: 1), conversation: conversation, report: ReportID(message.uuid))),
        "03626f62" + "c5" + "01" + "0032" + "0000000000000001" + "018900000000700080000000000000c5"
            + "0189000000007000800000000000aaaa"
    ),
    (MembersQuery(head, after: "", limit: 100), "018900000000700080000000000000c5" + "05616c696365" + "00" + "0064"),
    (
        HistoryQuery(head, anchor: .around(7), limit: 2),
        "018900000000700080000000000000c5" + "05616c696365" + "03" + "0000000000000007" + "0002"
    ),
    (
        MessageQuery(head, message: message),
        "018900000000700080000000000000c5" + "05616c696365" + "0189000000007000800000000000aaaa"
    ),
    (
        AfterPositionQuery(head, after: 9, limit: 200),
        "018900000000700080000000000000c5" + "05616c696365" + "0000000000000009" + "00c8"
    ),
    (
        EphemeralEntry.typing(conversation, bob, isActive: true),
        "01" + "018900000000700080000000000000c5" + "03626f62" + "01"
    ),
    (SenderCountsQuery(conversation), "018900000000700080000000000000c5"),
    (
        EphemeralEntry.superseded(bob, device: "tv", age: 9),
        "02" + "03626f62" + "00000002" + "7476" + "0000000000000009"
    ),
    (StreamPositions([StreamPosition(.user(bob), 4)]), "00000001" + "01" + "03626f62" + "0000000000000004"),
    (
        ReplayQuery(conversation, after: 1, through: 3, limit: 1000),
        "018900000000700080000000000000c5" + "0000000000000001" + "0000000000000003" + "000003e8"
    ),
    (PrivateReplayQuery(bob, after: 2, limit: 5), "03626f62" + "0000000000000002" + "00000005"),
    (
        DigestEntry(slot: Slot(0xC5), epoch: 3, number: 8, moved: [StreamPosition(.conversation(conversation), 12)]),
        "c5" + "0000000000000003" + "0000000000000008" + "00000001" + "00" + "018900000000700080000000000000c5"
            + "000000000000000c"
    ),
    (
        ReceiptSignal(conversation, user: bob, delivered: 5, read: 0),
        "018900000000700080000000000000c5" + "03626f62" + "0000000000000005" + "0000000000000000"
    ),
    (StatusQuery(conversation, after: 6), "018900000000700080000000000000c5" + "0000000000000006"),
    (
        Write(conversation, by: bob, key: nil, .setTapback(message, "like")),
        "018900000000700080000000000000c5" + "03626f62" + "00000000000000000000000000000000" + "04"
            + "0189000000007000800000000000aaaa" + "046c696b65"
    ),
    (
        // Without a text, which extends to the end: a shorter one is one, too.
        Write(conversation, by: bob, key: nil, .draft("", replyTo: message)),
        "018900000000700080000000000000c5" + "03626f62" + "00000000000000000000000000000000" + "0f"
            + "0189000000007000800000000000aaaa"
    ),
    (
        // Without a text, too.
        Write(
            conversation, by: bob, key: nil,
            .schedule(
                NewScheduled(
                    message, at: Timestamp(milliseconds: 7), replyTo: message, mentions: "*,bob", extra: "{}", text: "")
            )),
        "018900000000700080000000000000c5" + "03626f62" + "00000000000000000000000000000000" + "21"
            + "0189000000007000800000000000aaaa" + "0000000000000007" + "0189000000007000800000000000aaaa"
            + "000000052a2c626f62" + "000000027b7d"
    ),
    (
        SendScheduled(of: bob, in: conversation, answersAttachments: true),
        "018900000000700080000000000000c5" + "03626f62" + "01"
    ),
    (
        ScheduledQuery(bob, in: conversation, after: 7, limit: 3),
        "03626f62" + "018900000000700080000000000000c5" + "0000000000000007" + "0003"
    ),
    (
        AfterUserQuery(MessageQuery(head, message: message), after: "bob", limit: 3),
        "018900000000700080000000000000c5" + "05616c696365" + "0189000000007000800000000000aaaa" + "03626f62" + "0003"
    ),
    (
        SyncQuery(
            bob,
            since: SyncCursor(
                logID: message.uuid, useq: 1, transaction: 2, nextTransaction: 3, after: ConversationID(.zero))),
        "03626f62" + "01" + "0189000000007000800000000000aaaa" + "0000000000000001" + "0000000000000002"
            + "0000000000000003" + "00000000000000000000000000000000"
    ),
    (
        ReadPositions([ReadPositions.Entry(bob, conversation, readSeq: 9)]),
        "0001" + "03626f62" + "018900000000700080000000000000c5" + "0000000000000009"
    ),
    (
        PutSettings(bob, key: nil, readReceipts: .no, presence: .leave),
        "03626f62" + "00000000000000000000000000000000" + "02" + "00"
    ),
    (SettingsQuery(bob), "03626f62"),
    (
        PutProfile(bob, key: message.uuid, displayName: "Bé", avatarURL: "", extra: "{}"),
        "03626f62" + "0189000000007000800000000000aaaa" + "000342c3a9" + "0000" + "00027b7d"
    ),
    (
        ProfilesQuery(reader: bob, readsAll: true, [ProfilesQuery.Item(alice, version: 7)]),
        "03626f62" + "01" + "0001" + "05616c696365" + "0000000000000007"
    ),
    (
        EphemeralEntry.profile(ProfileNews(bob, version: 7, [conversation])),
        "05" + "03626f62" + "0000000000000007" + "0001" + "018900000000700080000000000000c5"
    ),
    (EraseUser(bob), "03626f62"),
    (DropImport(conversation, receiptsAreGone: false), "018900000000700080000000000000c5" + "00"),
    (DropImport(conversation, receiptsAreGone: true), "018900000000700080000000000000c5" + "01"),
    (DropReceipts(conversation), "018900000000700080000000000000c5"),
    (
        ImportReceipts(
            conversation,
            [
                ImportReceipt(.delivered, by: bob, through: message, at: Timestamp(milliseconds: 60_000)),
                ImportReceipt(.read, by: alice, through: message, at: Timestamp(milliseconds: 60_000)),
            ]),
        "018900000000700080000000000000c5" + "0002" + "01" + "03626f62" + "0189000000007000800000000000aaaa"
            + "000000000000ea60" + "02" + "05616c696365" + "0189000000007000800000000000aaaa" + "000000000000ea60"
    ),
    (EraseStep(bob, .leave(conversation)), "03626f62" + "01" + "018900000000700080000000000000c5"),
    (
        EraseStep(bob, .content(conversation, after: 7)),
        "03626f62" + "02" + "018900000000700080000000000000c5" + "0000000000000007"
    ),
    (EraseStep(bob, .stays(conversation)), "03626f62" + "03" + "018900000000700080000000000000c5"),
    (EraseStep(bob, .listing(conversation)), "03626f62" + "04" + "018900000000700080000000000000c5"),
    (EraseStep(bob, .remains), "03626f62" + "05"),
    (EraseReceipts(conversation, of: bob), "018900000000700080000000000000c5" + "03626f62"),
    (ErasedUsersQuery(Slot(0xC5), after: 3), "c5" + "0000000000000003"),
    (ErasureEntry(Slot(0xC5), count: 3, latest: bob), "c5" + "0000000000000003" + "03626f62"),
    (ErasureEntry(Slot(0xC5), count: 3), "c5" + "0000000000000003" + "00"),
    (ServedSlot(Slot(0xC5), requests: .command(Slot(0xC5).group)), "c5" + "43"),
    (ServedSlot(Slot(0xC5), requests: .receiptCommand(Slot(0xC5).group)), "c5" + "52"),
    (RevokeTokens(bob, before: Timestamp(milliseconds: 60_000)), "03626f62" + "000000000000ea60"),
    (
        Revocation(number: 7, bob, before: Timestamp(milliseconds: 60_000)),
        "0000000000000007" + "03626f62" + "000000000000ea60"
    ),
    (
        Revocation(number: 7, bob, before: Timestamp(milliseconds: 60_000), .only(DeviceID("fon")!)),
        "0000000000000007" + "00" + "000000000000ea60" + "03626f62" + "00" + "03666f6e"
    ),
    (
        EndDevices(bob, .allBut(DeviceID("fon")!), before: Timestamp(milliseconds: 60_000)),
        "03626f62" + "000000000000ea60" + "01" + "03666f6e"
    ),
    (NoteDevice(bob, DeviceID("fon")!), "03626f62" + "03666f6e"),
    (DevicesQuery(bob, current: DeviceID("fon")!), "03626f62" + "03666f6e"),
    (DevicesQuery(bob, current: nil), "03626f62" + "00"),
    (RevocationsQuery(Slot(0xC5), after: 3), "c5" + "0000000000000003" + "03"),
    (RevocationsQuery(Slot(0xC5), after: 3, knowsSuspensions: false), "c5" + "0000000000000003" + "01"),
    (
        SuspendUser(bob, .readOnly, until: Timestamp(milliseconds: 60_000), reason: "x"),
        "03626f62" + "01" + "000000000000ea60" + "78"
    ),
    (SuspendUser(bob, nil), "03626f62" + "00" + "0000000000000000"),
    (SuspensionQuery(bob), "03626f62"),
    (
        RecordAct(
            message.uuid, by: bob, for: alice, call: "putMember", in: conversation, target: "carol", detail: "owner"),
        "0189000000007000800000000000aaaa" + "03626f62" + "05616c696365" + "097075744d656d626572"
            + "018900000000700080000000000000c5" + "056361726f6c" + "056f776e6572"
    ),
    (
        RecordAct(message.uuid, by: bob, for: nil, call: "x", in: nil),
        "0189000000007000800000000000aaaa" + "03626f62" + "00" + "0178" + "00000000000000000000000000000000" + "00"
            + "00"
    ),
    (EndAct(message.uuid, status: 204), "0189000000007000800000000000aaaa" + "00cc"),
    (ActsQuery(by: bob, after: 3, limit: 100), "03626f62" + "0000000000000003" + "0064"),
    (
        HeldSuspension(number: 7, bob, .out),
        "0000000000000007" + "00" + "0000000000000000" + "03626f62" + "02" + "0000000000000000"
    ),
    (
        ListedRevocation.suspension(HeldSuspension(number: 7, bob, nil, until: Timestamp(milliseconds: 60_000))),
        "0000000000000007" + "00" + "0000000000000000" + "03626f62" + "00" + "000000000000ea60"
    ),
    (
        ListedRevocation.tokens(Revocation(number: 7, bob, before: Timestamp(milliseconds: 0))),
        "0000000000000007" + "03626f62" + "0000000000000000"
    ),
    (
        RevocationEntry(.suspension(HeldSuspension(number: 7, bob, .out))),
        String(bob.slot.number, radix: 16) + "0000000000000007" + "00" + "0000000000000000" + "03626f62" + "02"
            + "0000000000000000"
    ),
    (RevocationEntry(Slot(0xC5), number: 3), "c5" + "0000000000000003" + "00" + "0000000000000000"),
    (
        RevocationEntry(
            Revocation(number: 7, bob, before: Timestamp(milliseconds: 60_000), .allBut(DeviceID("fon")!))),
        String(bob.slot.number, radix: 16) + "0000000000000007" + "00" + "000000000000ea60" + "03626f62" + "01"
            + "03666f6e"
    ),
    (
        EphemeralEntry.presence(
            PresenceList(
                conversation, asks: true, online: [bob],
                departed: [PresenceList.Departure(alice, lastSeen: Timestamp(milliseconds: 60_000))])),
        "03" + "018900000000700080000000000000c5" + "01" + "01" + "03626f62" + "01" + "05616c696365"
            + "000000000000ea60"
    ),
    (EphemeralEntry.alive, "04"),
    (SeenUsers([bob]), "0001" + "03626f62"),
    (LastSeenQuery(bob), "03626f62"),
    (
        LastSeen([PresenceList.Departure(bob, lastSeen: Timestamp(milliseconds: 60_000))]),
        "0001" + "03626f62" + "000000000000ea60"
    ),
    (PeersQuery(of: bob, in: [conversation]), "03626f62" + "0001" + "018900000000700080000000000000c5"),
    (
        Peers([.init(bob, lastAt: Timestamp(milliseconds: 60_000))]),
        "0001" + "03626f62" + "000000000000ea60"
    ),
    (
        MayReadAttachment(media, of: message, by: alice, in: conversation, reader: bob),
        "018900000000700080000000000000c5" + "03626f62" + "0189000000007000800000000000aaaa" + "05616c696365"
            + "0189000000007000800000000000bbbb"
    ),
    (
        MayReadAttachment(media, of: message, by: alice, in: conversation, reader: nil),
        "018900000000700080000000000000c5" + "00" + "0189000000007000800000000000aaaa" + "05616c696365"
            + "0189000000007000800000000000bbbb"
    ),
    (
        WrittenMessages([.init(message), .init(message, text: "ü")], in: conversation, by: bob),
        "018900000000700080000000000000c5" + "03626f62" + "0002" + "0189000000007000800000000000aaaa" + "00000000"
            + "0189000000007000800000000000aaaa" + "00000002" + "c3bc"
    ),
    (WrittenMessages.Answer(isInConversation: true, areWritten: [false, true]), "010001"),
    (
        UserRowsQuery(["a.b"], of: [bob], in: [conversation], rowsOfUser: 256),
        "01" + "03612e62" + "0001" + "03626f62" + "00000001" + "018900000000700080000000000000c5" + "0100"
    ),
    (
        UserRowsAnswer([
            "a.b": [
                .init(slot: Slot(0xC5), rowCount: 2, text: Array("{1,2}".utf8)),
                .init(slot: nil, rowCount: 0, text: Array("{}".utf8)),
            ]
        ]),
        "01" + "03612e62" + "0002" + "00c5" + "00000002" + "00000005" + "7b312c327d" + "ffff" + "00000000" + "00000002"
            + "7b7d"
    ),
    (
        StatementQuery(
            [.init("a", values: [[7], nil], borrowed: [0])], for: .user(bob), texts: [Array("{}".utf8)], isHeavy: true),
        "01" + "03626f62" + "0100" + "0001" + "00000002" + "7b7d" + "0001" + "0161" + "02" + "00000001" + "07"
            + "ffffffff"
            + "01" + "0000"
    ),
    (
        StatementQuery([], for: .conversation(conversation), isSearch: true),
        "02" + "018900000000700080000000000000c5" + "0001" + "0000" + "0000"
    ),
    (StatementAnswer(errorCode: "57014"), "053537303134"),
    (StatementAnswer(rows: [1, 2]), "00" + "0102"),
    (
        AttachMedia(conversation, by: bob, [MessageMedia(message, [media]), MessageMedia(message, [])]),
        "018900000000700080000000000000c5" + "03626f62" + "0002" + "0189000000007000800000000000aaaa" + "01"
            + "0189000000007000800000000000bbbb" + "0189000000007000800000000000aaaa" + "00"
    ),
    (
        CopyMedia(MessageMedia(message, [media]), in: conversation, for: message, in: conversation, by: bob),
        "018900000000700080000000000000c5" + "0189000000007000800000000000aaaa" + "01"
            + "0189000000007000800000000000bbbb" + "018900000000700080000000000000c5" + "03626f62"
            + "0189000000007000800000000000aaaa"
    ),
    (
        ReleaseMedia(conversation, by: bob, MessageMedia(message, [media])),
        "018900000000700080000000000000c5" + "03626f62" + "0189000000007000800000000000aaaa" + "01"
            + "0189000000007000800000000000bbbb"
    ),
    (EraseMedia(of: bob), "03626f62"),
    (Problem(.notFound, "no"), "04" + "6e6f"),
]

@Suite struct LayoutTests {
    @Test("every layout has its golden bytes, and they read back", arguments: goldenBytes.indices)
    func golden(index: Int) throws {
        let (value, bytes) = goldenBytes[index]
        #expect(hex(encoded(value)) == bytes)
        try expectRoundTrip(value)
    }

    private func expectRoundTrip<Value: WireCodable & Hashable>(_ value: Value) throws {
        #expect(try decode(Value.self, encoded(value)) == value)
    }

    @Test("a truncated value is refused at every length", arguments: goldenBytes.indices)
    func truncated(index: Int) throws {
        let (value, _) = goldenBytes[index]
        for length in 0..<encoded(value).count where !isWhole(value, at: length) { expectTruncated(value, at: length) }
    }

    /// Whether a value may end there.
    private func isWhole(_ value: any WireCodable, at length: Int) -> Bool {
        switch value {
        // A command without an introduction, or without consents in it.
        case let creation as CreateConversation where creation.introduction != Introduction():
            [0, 2].contains(length - encoded(creation).count + 2 + creation.introduction.consents.count)
        // A problem's detail, the reason of a suspension and the texts of reports extend to the end of the bytes.
        case is Problem: length >= 1
        case is WrittenMessages.Answer: length >= 1
        case is StatementAnswer:
            length >= encoded(StatementAnswer(errorCode: (value as! StatementAnswer).errorCode)).count
        case let suspension as SuspendUser: length >= encoded(value).count - suspension.reason.utf8.count
        case let report as NewReport: length >= encoded(value).count - report.text.utf8.count
        case let resolution as ReportResolution: length >= encoded(value).count - resolution.note.utf8.count
        // Processes of before ask for revocations without the last byte.
        case is RevocationsQuery: length == encoded(value).count - 1
        // Where a suspension begins that is told of, an entry without one ends.
        case let entry as RevocationEntry:
            if case .suspension = entry.latest { length == 1 + 8 + 1 + 8 } else { false }
        default: false
        }
    }

    private func expectTruncated<Value: WireCodable>(_ value: Value, at length: Int) {
        #expect(throws: WireError.truncated) { try decode(Value.self, Array(encoded(value).prefix(length))) }
    }

    /// A name of 255 invalid bytes grew beyond the limit of the next frame; adding one to the highest position ended
    /// the process.
    @Test("invalid user names and numbers out of range are refused")
    func implausible() {
        let name = [255] + [UInt8](repeating: 0xFF, count: 255)
        #expect(throws: WireError.unknownValue(field: "", 255)) { try decode(EraseUser.self, name) }
        #expect(throws: WireError.unknownValue(field: "", 0)) { try decode(EraseUser.self, [0]) }
        for number in [Int64.max, .min, -1, JSONReader.maximumPosition + 1] {
            let refusal = WireError.unknownValue(field: "", UInt64(bitPattern: number))
            let digest = DigestEntry(
                slot: Slot(1), epoch: 1, number: 1, moved: [StreamPosition(.conversation(conversation), number)])
            #expect(throws: refusal) { try decode(DigestEntry.self, encoded(digest)) }
            #expect(throws: refusal) {
                try decode(EphemeralEntry.self, encoded(EphemeralEntry.superseded(bob, device: "tv", age: number)))
            }
        }
        let late = LastSeen([PresenceList.Departure(bob, lastSeen: Timestamp(milliseconds: .max))])
        #expect(throws: WireError.unknownValue(field: "", UInt64(Int64.max))) {
            try decode(LastSeen.self, encoded(late))
        }
    }

    @Test("the messages of a request are read without copies, in order")
    func messages() throws {
        var buffer = ByteBuffer()
        SendMessages.writeHead(conversation, alice, count: 2, to: &buffer)
        for text in ["one", "two"] {
            Array(text.utf8).withUnsafeBytes { text in
                let mentions = UnsafeRawBufferPointer(start: nil, count: 0)
                NewMessage(
                    id: message, sentAt: Timestamp(milliseconds: 1), replyTo: nil, mentions: mentions, text: text
                )
                .write(to: &buffer)
            }
        }
        var reader = ByteReader(buffer.bytes)
        let request = try SendMessages(from: &reader)
        var texts: [String] = []
        try request.forEachMessage { texts.append(String(decoding: $0.text, as: UTF8.self)) }
        #expect(request.sender == alice && request.conversation == conversation)
        #expect(texts == ["one", "two"])
    }

    @Test("messages with attachments have their golden bytes, and a list is refused when it is damaged or too long")
    func attachments() throws {
        let descriptor = #"{"id":1}"#, id = "0189000000007000800000000000bbbb"
        let list = written { buffer in
            buffer.append(2 as UInt8)
            Array(descriptor.utf8).withUnsafeBytes { AttachedFile(media, .ready, descriptor: $0).write(to: &buffer) }
            AttachedFile(media, .notReady, descriptor: UnsafeRawBufferPointer(start: nil, count: 0)).write(to: &buffer)
        }
        #expect(hex(list) == "02" + id + "00" + "0008" + hex(descriptor.utf8) + id + "02" + "0000")
        let bytes = try list.withUnsafeBytes { raw in
            var reader = ByteReader(raw)
            let attachments = try AttachmentList(from: &reader), none = UnsafeRawBufferPointer(start: nil, count: 0)
            var verdicts: [AttachVerdict] = [], descriptors: [String] = []
            attachments.forEach { file in
                verdicts.append(file.verdict)
                descriptors.append(String(decoding: file.descriptor, as: UTF8.self))
            }
            #expect(verdicts == [.ready, .notReady] && descriptors == [descriptor, ""] && reader.isAtEnd)
            return written { buffer in
                SendMessages.writeHead(conversation, alice, count: 2, to: &buffer)
                for list in [attachments, .none] {
                    NewMessage(
                        id: message, sentAt: Timestamp(milliseconds: 1), replyTo: nil, mentions: none, text: none,
                        attachments: list
                    ).write(to: &buffer, .attachments)
                }
            }
        }
        let plain = "0189000000007000800000000000aaaa" + "0000000000000001" + String(repeating: "0", count: 32 + 4 + 8)
        let head = "018900000000700080000000000000c5" + "05616c696365" + "0002"
        #expect(hex(bytes) == head + plain + hex(list) + plain + "00")
        for length in 0..<bytes.count { #expect(throws: WireError.truncated) { try counts(bytes.prefix(length)) } }
        #expect(try counts(bytes[...]) == [2, 0])
        for damaged in [[11] + list.dropFirst(), [1] + list[1...16] + [4, 0, 0], [1] + list[1...16] + [0, 0, 0]] {
            #expect(throws: WireError.self) {
                try Array(damaged).withUnsafeBytes { raw in
                    var reader = ByteReader(raw)
                    _ = try AttachmentList(from: &reader)
                }
            }
        }
    }

    @Test("messages with the application's own JSON have their golden bytes")
    func extras() throws {
        let extra = #"{"a":1}"#, text = "hi", none = UnsafeRawBufferPointer(start: nil, count: 0)
        let bytes = Array(extra.utf8).withUnsafeBytes { extra in
            Array(text.utf8).withUnsafeBytes { text in
                written { buffer in
                    SendMessages.writeHead(conversation, alice, count: 2, to: &buffer)
                    for extra in [extra, none] {
                        NewMessage(
                            id: message, sentAt: Timestamp(milliseconds: 1), replyTo: nil, mentions: none, text: text,
                            extra: extra
                        ).write(to: &buffer, .whole)
                    }
                }
            }
        }
        let plain =
            "0189000000007000800000000000aaaa" + "0000000000000001" + String(repeating: "0", count: 32 + 4) + "00000002"
            + hex(text.utf8) + "00"
        let head = "018900000000700080000000000000c5" + "05616c696365" + "0002"
        #expect(hex(bytes) == head + plain + "00000007" + hex(extra.utf8) + plain + "00000000")
        func extras(_ bytes: some Collection<UInt8>) throws -> [String] {
            try Array(bytes).withUnsafeBytes { raw in
                var reader = ByteReader(raw), extras: [String] = []
                try SendMessages(from: &reader, .whole).forEachMessage {
                    extras.append(String(decoding: $0.extra, as: UTF8.self))
                }
                return extras
            }
        }
        #expect(try extras(bytes) == [extra, ""])
        for length in 0..<bytes.count { #expect(throws: WireError.truncated) { try extras(bytes.prefix(length)) } }
    }

    @Test("polls have their golden bytes, beside a message that is none")
    func polls() throws {
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        let poll = NewPoll(options: ["é", "no"], isMultiple: true)
        let bytes = written { buffer in
            SendMessages.writeHead(conversation, alice, count: 2, to: &buffer)
            poll.withEncoded { encoded in
                for poll in [encoded, none] {
                    NewMessage(
                        id: message, sentAt: Timestamp(milliseconds: 1), replyTo: nil, mentions: none, text: none,
                        poll: poll
                    ).write(to: &buffer, .poll)
                }
            }
        }
        let sealed =
            "0189000000007000800000000000aaaa" + "0000000000000001" + String(repeating: "0", count: 32 + 4 + 8) + "00"
            + "00000000" + "00"
        #expect(
            hex(bytes) == "018900000000700080000000000000c5" + "05616c696365" + "0002" + sealed + "0201" + "0002c3a9"
                + "00026e6f" + sealed + "00")
        func polls(_ bytes: some Collection<UInt8>) throws -> [NewPoll?] {
            try Array(bytes).withUnsafeBytes { raw in
                var reader = ByteReader(raw), polls: [NewPoll?] = []
                try SendMessages(from: &reader, .poll).forEachMessage { polls.append($0.poll) }
                return polls
            }
        }
        #expect(try polls(bytes) == [poll, nil])
        for length in 0..<bytes.count { #expect(throws: WireError.truncated) { try polls(bytes.prefix(length)) } }
    }

    @Test("sealed messages have their golden bytes, beside those that are not")
    func sealed() throws {
        let text = "c2VhbA==", none = UnsafeRawBufferPointer(start: nil, count: 0)
        let bytes = Array(text.utf8).withUnsafeBytes { text in
            written { buffer in
                SendMessages.writeHead(conversation, alice, count: 2, to: &buffer)
                for isSealed in [true, false] {
                    NewMessage(
                        id: message, sentAt: Timestamp(milliseconds: 1), replyTo: nil, mentions: none, text: text,
                        isSealed: isSealed
                    ).write(to: &buffer, .sealed)
                }
            }
        }
        let plain =
            "0189000000007000800000000000aaaa" + "0000000000000001" + String(repeating: "0", count: 32 + 4) + "00000008"
            + hex(text.utf8) + "00" + "00000000"
        #expect(
            hex(bytes) == "018900000000700080000000000000c5" + "05616c696365" + "0002" + plain + "01" + plain + "00")
        func sealed(_ bytes: some Collection<UInt8>) throws -> [Bool] {
            try Array(bytes).withUnsafeBytes { raw in
                var reader = ByteReader(raw), sealed: [Bool] = []
                try SendMessages(from: &reader, .sealed).forEachMessage { sealed.append($0.isSealed) }
                return sealed
            }
        }
        #expect(try sealed(bytes) == [true, false])
        for length in 0..<bytes.count { #expect(throws: WireError.truncated) { try sealed(bytes.prefix(length)) } }
    }

    @Test("a forwarded message and its source have their golden bytes")
    func forwarded() throws {
        let none = UnsafeRawBufferPointer(start: nil, count: 0),
            origin = Forwarded(userId: bob, sentAt: Timestamp(milliseconds: 2))
        var forward = Forward(
            of: MessageQuery(ConversationQuery(conversation, reader: alice), message: message), showsOrigin: true)
        func reread(_ forward: Forward) throws -> Forward? {
            let bytes = written { buffer in
                SendMessages.writeHead(conversation, alice, count: 1, to: &buffer)
                forward.withEncoded { forward in
                    NewMessage(
                        id: message, sentAt: Timestamp(milliseconds: 1), replyTo: nil, mentions: none, text: none,
                        forward: forward
                    ).write(to: &buffer, .forwarded)
                }
            }
            func read(_ bytes: some Collection<UInt8>) throws -> Forward? {
                try Array(bytes).withUnsafeBytes { raw in
                    var reader = ByteReader(raw), forward: Forward?
                    try SendMessages(from: &reader, .forwarded).forEachMessage { forward = $0.forward }
                    return forward
                }
            }
            for length in 0..<bytes.count { #expect(throws: WireError.truncated) { try read(bytes.prefix(length)) } }
            let source = "018900000000700080000000000000c5" + "05616c696365" + "0189000000007000800000000000aaaa" + "01"
            #expect(
                hex(bytes).hasSuffix(
                    "00" + source
                        + (forward.problem == nil
                            ? "00" + "03626f62" + "0000000000000002" : "02" + "00" + String(repeating: "0", count: 16)))
            )
            return try read(bytes)
        }
        forward.origin = origin
        #expect(try reread(forward) == forward)
        (forward.origin, forward.problem) = (nil, .notForwardable)
        #expect(try reread(forward) == forward)

        #expect(hex(written(ForwardSource.problem(.notFound).write)) == "01")
        Array("Hi".utf8).withUnsafeBytes { text in
            #expect(
                hex(written(ForwardSource.found(origin, text: text, media: [media]).write)) == "00" + "03626f62"
                    + "0000000000000002" + "00000002" + "4869" + "01" + "0189000000007000800000000000bbbb")
        }
    }

    /// The attachments of each message of a `sendWithAttachments`.
    private func counts(_ bytes: ArraySlice<UInt8>) throws -> [Int] {
        try Array(bytes).withUnsafeBytes { raw in
            var reader = ByteReader(raw), counts: [Int] = []
            try SendMessages(from: &reader, .attachments).forEachMessage {
                counts.append($0.attachments.count)
            }
            return counts
        }
    }

    @Test("queries of an export and their responses read back")
    func exports() throws {
        let list = ExportedConversations(of: bob, after: conversation)
        let head = ExportHeadQuery(conversation, reader: nil)
        let page = ExportPageQuery(conversation, reader: bob, .tapbacks, after: 1, through: 2, state: 3)
        let id = hex(written { $0.append(conversation) }), number = String(repeating: "0", count: 15)
        #expect(hex(written(list.write)) == "03626f62" + id)
        #expect(hex(written(head.write)) == id + "00")
        #expect(hex(written(page.write)) == id + "03626f62" + "02" + number + "1" + number + "2" + number + "3")
        #expect(try reread(list) == list)
        #expect(try reread(head) == head)
        #expect(try reread(page) == page)

        let received = ExportedReceipt(
            user: bob, run: .both, seq: 7, message: nil, at: Timestamp(milliseconds: 60_000))
        #expect(try reread(received) == received)
        var place = ExportReceiptsQuery.Place(user: alice)
        place.move(past: received)
        #expect(place.user == bob && place[.delivered] == 0 && place[.both] == 7)
        for after in [nil, place] {
            let receipts = ExportReceiptsQuery(conversation, reader: nil, state: 3, after: after)
            #expect(try reread(receipts) == receipts)
        }

        let opening = ImportRecord.Conversation(
            kind: .group, createdAt: Timestamp(milliseconds: 60_000), title: "", members: [bob])
        let response = try reread(ExportHead(lastSeq: 9, opening: opening, stays: [2...3, 5...Int64.max]))
        #expect(response.lastSeq == 9 && response.opening.members == [bob])
        #expect(response.stays == [2...3, 5...Int64.max])

        let bytes = written { buffer in
            ExportPage.writeHead(state: 3, covered: 2, stayCount: 1, viewEnd: .max, to: &buffer)
            ExportPage.append(.end, at: 2, to: &buffer)
        }
        let read = try bytes.withUnsafeBytes { raw in
            var reader = ByteReader(raw)
            let page = try ExportPage(from: &reader)
            var seqs: [Int64] = []
            try page.forEachRecord { seq, _ in seqs.append(seq) }
            return (page.state, page.covered, page.stayCount, page.viewEnd, seqs)
        }
        #expect(read == (3, 2, 1, .max, [2]))
    }

    private func written(_ body: (inout ByteBuffer) -> Void) -> [UInt8] {
        var buffer = ByteBuffer()
        body(&buffer)
        return buffer.array
    }

    private func reread<Value: WireCodable>(_ value: Value) throws -> Value {
        try written(value.write).withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            return try Value(from: &reader)
        }
    }

    @Test("records of an import read back, each kind in its layout")
    func importRecords() throws {
        let at = Timestamp(milliseconds: 60_000), text = Array("one".utf8)
        var buffer = ByteBuffer()
        ImportRecords.writeHead(conversation, count: 11, to: &buffer)
        let head = buffer.count
        var layouts: [String] = []
        text.withUnsafeBytes { text in
            let records: [ImportRecord] = [
                .conversation(ImportRecord.Conversation(kind: .group, createdAt: at, title: "t", members: [bob])),
                .message(
                    ImportRecord.Message(
                        id: message, sender: bob, replyTo: nil, createdAt: at, deletedAt: nil,
                        texts: [.init(text, at: at)])),
                .message(
                    ImportRecord.Message(
                        id: message, sender: bob, replyTo: message, createdAt: at, deletedAt: at, texts: [])),
                .tapback(ImportRecord.Tapback(message: message, user: bob, kind: "love", at: at)),
                .member(ImportRecord.MemberChange(.memberAdded, of: bob, at: at, by: nil)),
                .title(ImportRecord.Title("t", at: at, by: bob)), .end,
                .message(
                    ImportRecord.Message(
                        id: message, sender: bob, replyTo: nil, createdAt: at, deletedAt: nil,
                        texts: [.init(text, at: at)], attachments: text)),
                .message(
                    ImportRecord.Message(
                        id: message, sender: bob, replyTo: nil, createdAt: at, deletedAt: nil,
                        texts: [.init(text, at: at)], poll: NewPoll(options: ["é", "no"], isMultiple: true))),
                .vote(ImportRecord.Vote(message: message, user: bob, options: PollOptions(bits: 0b101), at: at)),
                .pollClosed(ImportRecord.PollClosing(of: message, at: at, by: bob)),
            ]
            for record in records {
                let start = buffer.count
                record.write(to: &buffer)
                layouts.append(hex(buffer.array[start...]))
            }
        }
        let time = "000000000000ea60", id = "0189000000007000800000000000aaaa", none = String(repeating: "0", count: 32)
        #expect(
            layouts == [
                "01" + "01" + time + "0001" + "74" + "0001" + "03626f62",
                "02" + id + "03626f62" + none + time + "00" + "0000000000000000" + "0001" + time + "00000003"
                    + "6f6e65",
                "02" + id + "03626f62" + id + time + "01" + time + "0000",
                "03" + id + "03626f62" + "046c6f7665" + time, "04" + "06" + "03626f62" + time + "00",
                "05" + time + "03626f62" + "0001" + "74", "06",
                "07" + id + "03626f62" + none + time + "00" + "0000000000000000" + "0001" + time + "00000003"
                    + "6f6e65" + "00000003" + "6f6e65",
                "0b" + id + "03626f62" + none + time + "00" + "0000000000000000" + "0001" + time + "00000003"
                    + "6f6e65" + "00000000" + "00000000" + "02" + "01" + "0002" + "c3a9" + "0002" + "6e6f",
                "0c" + id + "03626f62" + "0005" + time, "0d" + id + time + "03626f62",
            ])
        var reader = ByteReader(buffer.bytes)
        let request = try ImportRecords(from: &reader)
        var again = ByteBuffer()
        try request.forEachRecord { $0.write(to: &again) }
        #expect(request.conversation == conversation && request.count == 11)
        #expect(again.array == Array(buffer.array[head...]))
        // A shorter one is refused.
        for length in 0..<buffer.count {
            buffer.array[..<length].withUnsafeBytes { bytes in
                var reader = ByteReader(bytes)
                #expect(throws: WireError.self) {
                    try ImportRecords(from: &reader).forEachRecord { _ in }
                }
            }
        }
    }

    @Test("what was added at the end reads back, and may be missing")
    func additions() throws {
        let list = PresenceList(
            conversation, asks: false, online: [bob], departed: [], blocked: [BlockMarks(bob, hashes: [0xABCD])])
        let end = "00" + "0001" + "03626f62" + "01" + "000000000000abcd"
        #expect(hex(encoded(list)) == "018900000000700080000000000000c5" + "00" + "01" + "03626f62" + end)
        #expect(try decode(PresenceList.self, encoded(list)) == list)
        #expect(try decode(PresenceList.self, encoded(list).dropLast(15)).blocked.isEmpty)
        let query = ReplayQuery(conversation, after: 1, through: 3, limit: 5, asOf: 7)
        #expect(hex(encoded(query)).hasSuffix("00000005" + "0000000000000007"))
        #expect(try decode(ReplayQuery.self, encoded(query)) == query)
        #expect(try decode(ReplayQuery.self, encoded(query).dropLast(8)).asOf == .max)
    }

    @Test("a bootstrap reads back")
    func bootstrap() throws {
        let stay = Bootstrap.Stay(
            conversation: conversation, lastSeq: 9, from: 2, through: nil, statusVersion: 3, memberCount: 4)
        let start = Bootstrap(
            logID: conversation.uuid, serverTime: Timestamp(milliseconds: 5), useq: 7, hasMore: true, stays: [stay],
            conversations: Array("[]".utf8), showsPresence: true, firstUseq: 3, blocked: [bob])
        let read = try decode(Bootstrap.self, encoded(start))
        #expect(read.stays == [stay] && read.useq == 7 && read.hasMore && read.conversations == Array("[]".utf8))
        #expect(read.showsPresence && read.firstUseq == 3 && read.blocked == [bob])
        // Stores of previous versions do not send these.
        #expect(try decode(Bootstrap.self, encoded(start).dropLast(6)).blocked == [])
        #expect(try decode(Bootstrap.self, encoded(start).dropLast(14)).firstUseq == 1)
    }

    @Test("sender counts have their golden bytes, read back, and are refused when truncated")
    func senderCounts() throws {
        var buffer = ByteBuffer()
        SenderCounts.writeHead(version: 9, at: Timestamp(milliseconds: 5), to: &buffer)
        for sender in [alice, bob] { SenderCounts.writeEntry(sender, to: &buffer) { $0.append(utf8: "[]") } }
        let head = "0000000000000009" + "0000000000000005"
        #expect(hex(buffer.array) == head + "05616c696365" + "00000002" + "5b5d" + "03626f62" + "00000002" + "5b5d")
        #expect(try senders(buffer.array) == [alice, bob])
        #expect(throws: WireError.truncated) { try senders(buffer.array.dropLast()) }
        #expect(throws: WireError.truncated) { try senders(buffer.array.prefix(15)) }
    }

    @Test("a change has its golden bytes, reads back with and without its message, and is refused when truncated")
    func change() throws {
        var buffer = ByteBuffer()
        ChangeEntry.write(
            conversation, seq: 9, .messageEdited, messageSeq: 4, to: &buffer, head: { $0.append(utf8: #"{"seq":9"#) },
            rest: { $0.append(utf8: "}") })
        let bytes = buffer.array
        #expect(
            hex(bytes) == "018900000000700080000000000000c5" + "0000000000000009" + "02" + "00" + "0000000000000004"
                + "00000009" + "7b22736571223a39" + "7d" + "00000008")
        for length in 0..<bytes.count { #expect(throws: WireError.truncated) { try change(bytes.prefix(length)) } }
        #expect(throws: WireError.unknownValue(field: "", 10)) { try change(bytes.dropLast() + [10]) }
        #expect(try change(bytes) == [#"{"seq":9}"#, #"{"seq":9"#])
    }

    @Test("a trace context takes 25 bytes before the kind of an entry, and a missing one none")
    func traced() throws {
        let trace = try #require(Self.trace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
        func entry(_ trace: TraceContext?) -> [UInt8] {
            var buffer = ByteBuffer()
            RequestEntry.write(RequestNumber(1), Slot(5), kind: 3, trace: trace, to: &buffer) { $0.append([9]) }
            return buffer.array
        }
        #expect(hex(entry(nil)) == "0000000000000001" + "05" + "03" + "09")
        #expect(
            hex(entry(trace)) == "0000000000000001" + "05" + "ff" + "4bf92f3577b34da6a3ce929d0e0e4736"
                + "00f067aa0ba902b7" + "03" + "09")
        try entry(trace).withUnsafeBytes { bytes in
            let read = try RequestEntry(bytes)
            #expect(read.kind == 3 && read.trace == trace && Array(read.fields) == [9])
        }
        func change(_ trace: TraceContext?) -> [UInt8] {
            var buffer = ByteBuffer()
            ChangeEntry.write(
                conversation, seq: 9, .messageEdited, trace: trace, to: &buffer, head: { $0.append(utf8: "{") },
                rest: { $0.append(utf8: "}") })
            return buffer.array
        }
        #expect(change(trace).count == change(nil).count + 25)
        try change(trace).withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            let read = try ChangeEntry(from: &reader)
            #expect(read.trace == trace && read.kind == .messageEdited && read.json.count == 2)
        }
    }

    private static func trace(_ text: String) -> TraceContext? {
        Array(text.utf8).withUnsafeBytes { TraceContext(traceparent: $0) }
    }

    @Test("a traceparent is read by the rules of W3C Trace Context")
    func traceparent() throws {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736", parent = "00f067aa0ba902b7"
        let taken = try #require(Self.trace("00-\(trace)-\(parent)-01"))
        #expect(taken.traceText == trace && taken.parentText == parent)
        #expect(Self.trace("cc-\(trace)-\(parent)-03-what-later-versions-add") == taken)
        for ignored in [
            "00-\(trace)-\(parent)-00", "00-\(trace)-\(parent)-01-more", "ff-\(trace)-\(parent)-01",
            "00-\(trace.uppercased())-\(parent)-01", "00-\(String(repeating: "0", count: 32))-\(parent)-01",
            "00-\(trace)-0000000000000000-01", "00-\(trace)-\(parent)-1", "00-\(trace)-\(parent)", "", "-", "00-x-y-01",
        ] { #expect(Self.trace(ignored) == nil, "\(ignored)") }
    }

    private func change(_ bytes: some Sequence<UInt8>) throws -> [String] {
        try Array(bytes).withUnsafeBytes { raw in
            var reader = ByteReader(raw)
            let entry = try ChangeEntry(from: &reader)
            #expect(entry.seq == 9 && entry.messageSeq == 4)
            return [entry.json, entry.head].map { String(decoding: $0, as: UTF8.self) }
        }
    }

    private func senders(_ bytes: some Sequence<UInt8>) throws -> [UserID] {
        try Array(bytes).withUnsafeBytes { raw in
            var reader = ByteReader(raw)
            let counts = try SenderCounts(from: &reader)
            #expect(counts.version == 9 && counts.at == Timestamp(milliseconds: 5))
            var senders: [UserID] = []
            try counts.forEachSender { sender, _ in senders.append(sender) }
            return senders
        }
    }

    @Test("random bytes never trap", arguments: UInt64(0)..<200)
    func garbage(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let bytes = (0..<Int.random(in: 0...200, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        for (value, _) in goldenBytes { tryDecode(value, bytes) }
        _ = try? decode(Bootstrap.self, bytes)
    }

    private func tryDecode<Value: WireCodable>(_: Value, _ bytes: [UInt8]) { _ = try? decode(Value.self, bytes) }

    @Test("every action of a write reads back")
    func writes() throws {
        let actions: [Write.Action] = [
            .edit(message, text: "té"), .deleteForEveryone(message), .hide(message), .setTapback(message, "🎉"),
            .removeTapback(message), .putMember(bob, nil), .putMember(bob, .owner), .removeMember(bob), .rename("T"),
            .clearHistory(through: 7), .putSettings(readReceipts: .inherit), .putSettings(readReceipts: .no), .unlist,
            .mark(.muted(until: .forever)), .mark(.muted(until: nil)), .mark(.pinned(order: -3)),
            .mark(.pinned(order: nil)), .mark(.archived(through: .max)), .mark(.archived(through: nil)),
            .mark(.unread(true)), .mark(.unread(false)), .block(bob, true), .block(bob, false),
            .draft("té", replyTo: message), .draft("", replyTo: nil), .acceptRequest, .declineRequest,
            .putMember(bob, .admin), .putMember(bob, nil, Introduction([.refused])),
            .putMember(bob, nil, Introduction(peoplePerDay: 20)),
            .setPermissions(GroupPermissions(rename: .admins, write: .owners)),
            .setPermissions(GroupPermissions(mentionAll: .admins)),
            .setPermissions(GroupPermissions(mentionAll: .members)),
            .setPermissions(.byDefault), .setLifetime(seconds: 86_400),
            .setLifetime(seconds: 60, from: .reading), .liftBan(bob),
            .createInvitation(NewInvitation(id: InvitationID(message.uuid), secret: conversation.uuid)),
            .createInvitation(
                NewInvitation(
                    id: InvitationID(message.uuid), secret: .zero, expiresAt: Timestamp(milliseconds: 7), maxUses: 3)),
            .revokeInvitation(InvitationID(message.uuid)), .join(secret: message.uuid),
            .report(NewReport(id: ReportID(message.uuid), user: bob, reason: .other, text: "té")),
            .resolveReport(ReportResolution(of: ReportID(message.uuid), .erased, note: "té")),
            .setRetention(days: 7), .setRetention(days: nil),
            .pinMessage(message), .unpinMessage(message), .vote(message, PollOptions(bits: 0b101)), .closePoll(message),
            .declineJoinRequest(bob), .editSealed(message, "c2VhbA=="),
            .cancelScheduled(message),
            .schedule(NewScheduled(message, at: Timestamp(milliseconds: 7), text: "té")),
            .schedule(
                NewScheduled(
                    message, at: Timestamp(milliseconds: 0), replyTo: message, mentions: "*", extra: #"{"a":1}"#,
                    text: "té")
            ),
            .createInvitation(NewInvitation(id: InvitationID(message.uuid), secret: .zero, needsApproval: true)),
        ]
        for action in actions {
            let write = Write(conversation, by: alice, key: message.uuid, action)
            #expect(try decode(Write.self, encoded(write)) == write)
        }
    }

    @Test("a place among reports is ordered by its time, its text round-trips, and any other text is refused")
    func reportCursor() {
        func place(_ time: Int64, _ conversation: ConversationID, _ report: UUIDBytes) -> ReportCursor {
            ReportCursor(
                createdAt: Timestamp(milliseconds: time), conversation: conversation, report: ReportID(report))
        }
        let cursor = place(4, conversation, message.uuid)
        #expect(ReportCursor(text: cursor.text) == cursor && ReportCursor.start < cursor)
        #expect(cursor < place(5, ConversationID(.zero), .zero) && place(4, conversation, .zero) < cursor)
        for text in ["", "__", "-1_\(conversation)_\(message)", "04_\(conversation)_\(message)", cursor.text + "_"] {
            #expect(ReportCursor(text: text) == nil)
        }
    }

    @Test("a sync cursor's text round-trips, and any other text is refused")
    func syncCursor() throws {
        let cursor = SyncCursor(
            logID: message.uuid, useq: 4, transaction: 5, nextTransaction: 6, after: conversation)
        #expect(SyncCursor(text: cursor.text) == cursor)
        var ofNodes = cursor
        (ofNodes.transaction, ofNodes.nextTransaction) = (0, 0)
        ofNodes.nodes = .init(useq: 5, [1: .init(since: 750, next: 812), 2: .init(since: 0, next: 7)])
        #expect(ofNodes.text.hasSuffix("_5-1n750n812-2n0n7_\(cursor.after)"))
        #expect(SyncCursor(text: ofNodes.text) == ofNodes)
        try expectRoundTrip(SyncQuery(bob, since: ofNodes))
        for (right, wrong) in [
            ("2n0n7", "2n0n07"), ("2n0n7", "2n0"), ("2n0n7", "1n0n7"), ("_5-", "_-5-"), ("2n0n7", "2n0n-7"),
        ] {
            #expect(SyncCursor(text: ofNodes.text.replacing(right, with: wrong)) == nil)
        }
        let most = SyncCursor.Nodes(
            useq: .max >> 11,
            Dictionary(uniqueKeysWithValues: (0..<100).map { (Int32.max - $0, .init(since: .max, next: .max)) }))
        #expect(most.transactions.count == SyncCursor.Nodes.limit)
        ofNodes.nodes = most
        #expect(ofNodes.text.utf8.count < 2_000)
        for text in ["", "____", "\(message)_-1_2_3_\(conversation)", cursor.text + "_"] {
            #expect(SyncCursor(text: text) == nil)
        }
    }

    @Test("a search reads back, its cursor's text round-trips, and any other text is refused")
    func search() throws {
        let cursor = SearchCursor(
            at: Timestamp(milliseconds: 1_700_000_000_123), conversation: conversation, seq: 7, isForParts: true)
        for query in [
            SearchQuery(reader: alice, conversation: nil, before: nil, limit: 20, text: "té"),
            SearchQuery(reader: alice, conversation: conversation, before: cursor, limit: 1, text: ""),
        ] {
            #expect(try decode(SearchQuery.self, encoded(query)) == query)
        }
        #expect(SearchCursor(text: cursor.text) == cursor)
        for text in [
            "", "___", "5_\(conversation)_7_x", "5_\(conversation)_0_w", "-1_\(conversation)_7_w", cursor.text + "_",
        ] {
            #expect(SearchCursor(text: text) == nil)
        }
    }

    @Test("an activity cursor's text round-trips, and any other text is refused")
    func cursor() {
        let cursor = ActivityCursor(
            lastActivityAt: Timestamp(milliseconds: 1_700_000_000_123), conversation: conversation)
        #expect(ActivityCursor(text: cursor.text) == cursor)
        for text in ["", "_", "5", "-1_\(conversation)", "5_nothing", "99999999999999999999_\(conversation)"] {
            #expect(ActivityCursor(text: text) == nil)
        }
    }
}
