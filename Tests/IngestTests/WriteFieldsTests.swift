import Bytes
import Models
import Testing
import Wire

@testable import Ingest

private func with<Value>(_ text: String, _ body: (UnsafeRawBufferPointer) throws(Problem) -> Value) throws(Problem)
    -> Value
{
    let bytes = Array(text.utf8)
    let result: Result<Value, Problem> = bytes.withUnsafeBytes { bytes in
        Result { () throws(Problem) in try body(bytes) }
    }
    return try result.get()
}

@Suite struct WriteFieldsTests {
    private func text(_ json: String) throws(Problem) -> String {
        guard case .edit(_, let text) = try edit(json) else { return "" }
        return text
    }

    private func edit(_ json: String) throws(Problem) -> Write.Action {
        let message = MessageID(UUIDBytes(high: 7, low: 1))
        return try with(json) { body throws(Problem) in try WriteFields.edit(of: message, body, ClientLimits()) }
    }

    private func title(_ json: String) throws(Problem) -> String {
        try with(json) { body throws(Problem) in try WriteFields.title(body, ClientLimits()) }
    }

    private func tapback(_ json: String) throws(Problem) -> String { try with(json, WriteFields.tapback) }
    private func role(_ json: String) throws(Problem) -> MemberRole? { try with(json, WriteFields.role) }

    @Test("the field is read, others are ignored")
    func read() throws {
        #expect(try text(#"{"id":[7],"text":"say \"hi\" \ud83e\uddd7\n"}"#) == "say \"hi\" 🧗\n")
        #expect(try title(#"{"title":" Plans "}"#) == " Plans ")
        #expect(try tapback(#"{"kind":"\u2764\ufe0f"}"#) == "❤️")
        #expect(try role(#"{"role":"owner"}"#) == .owner && role(#"{"role":"member"}"#) == .member)
        #expect(try role(#"{"role":"admin"}"#) == .admin)
    }

    @Test("what is edited is a text or sealed, and not both")
    func edits() throws {
        let message = MessageID(UUIDBytes(high: 7, low: 1))
        #expect(try edit(#"{"sealed":"c2VhbA=="}"#) == .editSealed(message, "c2VhbA=="))
        #expect(try edit(#"{"sealed":null,"text":"x"}"#) == .edit(message, text: "x"))
        #expect(throws: Problem(.invalid, "text: a sealed message has none")) {
            try edit(#"{"sealed":"c2VhbA==","text":"x"}"#)
        }
        #expect(throws: Problem.self) { try edit(#"{"sealed":"c2VhbA"}"#) }
        #expect(throws: Problem.missing("text")) { try edit("{}") }
    }

    @Test("an invitation has the id that the client chose, and what is null or missing is unbounded")
    func invitation() throws {
        let id = "0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90"
        func read(_ json: String) throws -> NewInvitation {
            try with(json) { body throws(Problem) in try InvitationFields(body).invitation(secret: .zero) }
        }
        let bare = NewInvitation(id: InvitationID(UUIDBytes(id)!), secret: .zero)
        #expect(try read(#"{"id":"\#(id)"}"#) == bare)
        #expect(try read(#"{"id":"\#(id)","expiresAt":null,"maxUses":null,"code":"x"}"#) == bare)
        let bounded = try read(#"{"id":"\#(id)","expiresAt":"1970-01-01T00:00:00.007Z","maxUses":100000}"#)
        #expect(bounded.expiresAt == Timestamp(milliseconds: 7) && bounded.maxUses == 100_000)
        for (field, wrong) in [
            ("id", "{}"), ("id", #"{"id":"0198c2a4-5d10-8c3e-9a41-3f0c5b7e2d90"}"#), ("id", #"{"id":7}"#),
            ("maxUses", #"{"id":"\#(id)","maxUses":0}"#), ("maxUses", #"{"id":"\#(id)","maxUses":100001}"#),
            ("maxUses", #"{"id":"\#(id)","maxUses":1.5}"#), ("expiresAt", #"{"id":"\#(id)","expiresAt":"soon"}"#),
        ] {
            let problem = #expect(throws: Problem.self) { try read(wrong) }
            #expect(problem?.code == .invalid && problem?.detail.hasPrefix(field) == true, "\(wrong)")
        }
    }

    @Test("a report names a message, a person or both, and why")
    func report() throws {
        let id = "0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90", uuid = UUIDBytes(id)!
        func read(_ fields: String) throws -> NewReport {
            try with(#"{"id":"\#(id)","conversationId":"\#(id)"\#(fields)}"#) { body throws(Problem) in
                _ = try ReportFields(body).conversation()
                return try ReportFields(body).report()
            }
        }
        #expect(
            try read(#","messageId":"\#(id)","reason":"selfHarm","text":null"#)
                == NewReport(id: ReportID(uuid), message: MessageID(uuid), reason: .selfHarm))
        #expect(
            try read(#","userId":"ben","messageId":null,"reason":"spam","text":"é""#)
                == NewReport(id: ReportID(uuid), user: UserID("ben")!, reason: .spam, text: "é"))
        let most = String(repeating: "é", count: ContractLimits.reportCharacters)
        #expect(try read(#","userId":"ben","reason":"spam","text":"\#(most)""#).text == most)
        for (detail, code, wrong) in [
            ("messageId, userId: one", Problem.Code.invalid, #","reason":"spam""#),
            ("reason: is missing", .invalid, #","userId":"ben""#),
            ("reason: must be one of spam, ", .invalid, #","userId":"ben","reason":"dull""#),
            ("userId", .invalid, #","userId":"b n","reason":"spam""#),
            ("messageId", .invalid, #","messageId":"7","reason":"spam""#),
            ("text: at most", .tooLarge, #","userId":"ben","reason":"spam","text":"\#(most)é""#),
        ] {
            let problem = #expect(throws: Problem.self) { try read(wrong) }
            #expect(problem?.code == code && problem?.detail.hasPrefix(detail) == true, "\(wrong)")
        }
    }

    @Test("a resolution says what was done")
    func resolution() throws {
        let report = ReportID(UUIDBytes(high: 7, low: 7))
        func read(_ json: String) throws -> ReportResolution {
            try with(json) { body throws(Problem) in try ResolutionFields(body).resolution(of: report) }
        }
        #expect(try read(#"{"action":"none"}"#) == ReportResolution(of: report, .none))
        #expect(
            try read(#"{"action":"suspended","note":"Case 7"}"#)
                == ReportResolution(of: report, .suspended, note: "Case 7"))
        for wrong in ["{}", #"{"action":null}"#, #"{"action":"banned"}"#, #"{"action":"none","note":7}"#] {
            #expect(throws: Problem.self) { try read(wrong) }
        }
    }

    @Test(
        "a permission that is missing or null stays as it is",
        arguments: [
            ("{}", GroupPermissions()), (#"{"write":"admins","rename":null,"7":7}"#, GroupPermissions(write: .admins)),
            (
                #"{"rename":"owners","write":"members","addMembers":"admins","mentionAll":"owners"}"#,
                GroupPermissions(addMembers: .admins, rename: .owners, write: .members, mentionAll: .owners)
            ),
        ])
    func permissions(json: String, permissions: GroupPermissions) throws {
        #expect(try with(json) { body throws(Problem) in try PermissionFields(body).permissions } == permissions)
    }

    @Test(
        "permissions of no such name, or given twice, are refused",
        arguments: [
            "", "[]", #"{"write":"admin"}"#, #"{"write":7}"#, #"{"rename":true}"#,
            #"{"addMembers":"members","addMembers":"members"}"#, #"{"mentionAll":false}"#,
        ])
    func wrongPermissions(json: String) {
        #expect(throws: Problem.self) {
            try with(json) { body throws(Problem) in try PermissionFields(body).permissions }
        }
    }

    @Test(
        "a missing setting stays as it is, and null makes it inherited",
        arguments: [
            ("{}", .leave, .leave), (#"{"readReceipts":true}"#, .yes, .leave),
            (#"{"presence":false,"readReceipts":null,"muted":7}"#, .inherit, .no),
        ] as [(String, SettingChange, SettingChange)])
    func settings(json: String, readReceipts: SettingChange, presence: SettingChange) throws {
        let own = try with(json) { body throws(Problem) in try SettingsFields(body, areOfConversation: false) }
        #expect((own.readReceipts, own.presence) == (readReceipts, presence))
        // A conversation has no presence setting: there it is an unknown field.
        let inConversation = try with(json) { body throws(Problem) in try SettingsFields(body, areOfConversation: true)
        }
        #expect((inConversation.readReceipts, inConversation.presence) == (readReceipts, .leave))
    }

    @Test(
        "malformed or repeated settings are refused",
        arguments: [
            "", "[]", #"{"readReceipts":1}"#, #"{"presence":"no"}"#, #"{"presence":null,"presence":null}"#,
            #"{"readReceipts":true,"readReceipts":false}"#, #"{"presence":true"#,
        ])
    func wrongSettings(json: String) {
        #expect(throws: Problem.self) {
            try with(json) { body throws(Problem) in try SettingsFields(body, areOfConversation: false) }
        }
    }

    @Test("a role may be left out, and its whole body with it", arguments: ["", "{}", #"{"role":null}"#])
    func noRole(json: String) throws { #expect(try role(json) == nil) }

    @Test(
        "a wrong field is refused by its name",
        arguments: [
            ("text", "{}"), ("text", #"{"text":null}"#), ("text", #"{"text":1}"#), ("text", #"{"text":""}"#),
            ("text", #"{"text":" \n\u2003"}"#), ("text", #"{"text":"a\u0000"}"#), ("text", #"{"text":"\ud83e"}"#),
            ("title", "{}"), ("title", #"{"title":null}"#), ("title", #"{"title":""}"#), ("title", #"{"title":"\t"}"#),
            ("title", #"{"title":["x"]}"#), ("kind", "{}"), ("kind", #"{"kind":"Love"}"#), ("kind", #"{"kind":"1"}"#),
            ("kind", #"{"kind":5}"#), ("role", #"{"role":"admins"}"#), ("role", #"{"role":""}"#),
            ("role", #"{"role":"Owner"}"#), ("role", #"{"role":2}"#),
        ])
    func wrong(field: String, json: String) {
        do throws(Problem) {
            switch field {
            case "text": _ = try text(json)
            case "title": _ = try title(json)
            case "kind": _ = try tapback(json)
            default: _ = try role(json)
            }
            Issue.record("accepted: \(json)")
        } catch {
            #expect(error.code == .invalid && error.detail.hasPrefix("\(field): "), "\(error)")
        }
    }

    @Test(
        "a body that is not an object is refused",
        arguments: ["null", "[]", "\"x\"", "{", "{}{}", #"{"role":"owner","role":"owner"}"#])
    func noObject(json: String) {
        #expect(throws: Problem.self) { try role(json) }
        #expect(throws: Problem.self) { try text(json) }
    }

    @Test("an empty body is refused where a field is required")
    func empty() { #expect(throws: Problem.self) { try text("") } }

    @Test("a value over a limit is too large, and one at the limit is not")
    func limits() throws {
        let long = String(repeating: "🧗", count: 4096)
        #expect(try text(#"{"text":"\#(long)"}"#) == long)
        #expect(throws: Problem(.tooLarge, "text: at most 16384 bytes of UTF-8")) { try text(#"{"text":"\#(long)x"}"#) }
        let wide = String(repeating: "🧗", count: 200)
        #expect(try title(#"{"title":"\#(wide)"}"#) == wide)
        #expect(throws: Problem(.tooLarge, "title: at most 200 characters")) { try title(#"{"title":"\#(wide)x"}"#) }
    }
}

@Suite struct IdempotencyKeyTests {
    private func key(_ text: String) throws(Problem) -> UUIDBytes? {
        try with(text) { bytes throws(Problem) in try IdempotencyKey.of(bytes) }
    }

    @Test(
        "a UUID of any version is a key, and upper and lower case are equal",
        arguments: [
            "0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90", "0198C2A4-5D10-7C3E-9A41-3F0C5B7E2D90",
            "0198C2a4-5d10-7c3e-9a41-3f0c5b7e2d90",
        ])
    func accepted(text: String) throws {
        #expect(try key(text)?.description == "0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90")
    }

    @Test("versions do not matter", arguments: ["1", "4", "8", "f"])
    func versions(version: String) throws {
        #expect(try key("0198c2a4-5d10-\(version)c3e-9a41-3f0c5b7e2d90") != nil)
    }

    @Test("without the field there is no key")
    func none() throws { #expect(try IdempotencyKey.of(nil) == nil) }

    @Test(
        "any other value is refused by the field's name",
        arguments: [
            "", "x", "00000000-0000-0000-0000-000000000000", "0198c2a45d107c3e9a413f0c5b7e2d90",
            "\"0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90\"", "0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d9g",
            "0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d9", "{0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90}",
        ])
    func refused(text: String) {
        #expect(throws: Problem(.invalid, "Idempotency-Key: must be a UUID")) { try key(text) }
    }
}
