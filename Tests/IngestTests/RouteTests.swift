import Edge
import Models
import Testing
import Wire

@testable import Ingest

private func find(_ method: Edge.Method, _ path: String) -> String {
    Array(path.utf8).withUnsafeBytes { bytes in
        switch Route.find(method, bytes) {
        case .route(let route): "\(route.call)"
        case .notFound: "404"
        case .methodNotAllowed(let allowed): "405 \(allowed)"
        }
    }
}

private let id = "0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90"

@Suite struct RouteTests {
    @Test(
        "every call of the contract is found by its method and path",
        arguments: [
            (.get, "/v1/limits", "limits"), (.get, "/openapi.json", "document"),
            (.post, "/v1/conversations", "createConversation"), (.get, "/v1/conversations", "listConversations"),
            (.get, "/v1/sync", "sync"), (.get, "/v1/search", "search"), (.get, "/v1/settings", "settings"),
            (.put, "/v1/settings", "putSettings"),
            (.get, "/v1/conversations/\(id)/settings", "conversationSettings"),
            (.put, "/v1/conversations/\(id)/settings", "putConversationSettings"),
            (.delete, "/v1/users/ben", "eraseUser"), (.post, "/v1/users/ben/revoke", "revokeTokens"),
            (.get, "/v1/users/ben/suspension", "suspension"), (.put, "/v1/users/ben/suspension", "suspend"),
            (.delete, "/v1/users/ben/suspension", "liftSuspension"),
            (.post, "/v1/reports", "createReport"), (.get, "/v1/reports", "reports"),
            (.get, "/v1/conversations/\(id)/reports/\(id)", "report"),
            (.post, "/v1/conversations/\(id)/reports/\(id)/resolution", "resolveReport"),
            (.put, "/v1/conversations/\(id)/retention", "putRetention"),
            (.get, "/v1/audit", "acts"),
            (.post, "/v1/import", "importRecords"), (.delete, "/v1/import/\(id)", "dropImport"),
            (.get, "/v1/export/conversations/\(id)", "exportConversation"),
            (.get, "/v1/export/users/ben", "exportUser"),
            (.get, "/v1/conversations/\(id)", "conversation"), (.get, "/v1/conversations/\(id)/members", "members"),
            (.post, "/v1/conversations/\(id)/messages", "send"), (.get, "/v1/conversations/\(id)/messages", "history"),
            (.get, "/v1/conversations/\(id)/messages/\(id)", "message"),
            (.get, "/v1/conversations/\(id)/changes", "changes"),
            (.get, "/v1/conversations/\(id)/digest", "digest"),
            (.post, "/v1/conversations/\(id)/receipts", "receipts"),
            (.post, "/v1/messages:batch", "sendBatch"), (.post, "/v1/messages%3Abatch", "sendBatch"),
            (.patch, "/v1/conversations/\(id)", "rename"),
            (.put, "/v1/conversations/\(id)/members/ben", "putMember"),
            (.delete, "/v1/conversations/\(id)/members/ben", "removeMember"),
            (.delete, "/v1/conversations/\(id)/history", "clearHistory"),
            (.put, "/v1/conversations/\(id)/permissions", "putPermissions"),
            (.put, "/v1/conversations/\(id)/lifetime", "putLifetime"),
            (.get, "/v1/conversations/\(id)/bans", "bans"),
            (.get, "/v1/conversations/\(id)/pinned", "pinnedMessages"),
            (.get, "/v1/conversations/\(id)/mentions", "mentions"),
            (.put, "/v1/conversations/\(id)/messages/\(id)/pin", "pinMessage"),
            (.put, "/v1/conversations/\(id)/messages/\(id)/vote", "vote"),
            (.get, "/v1/conversations/\(id)/messages/\(id)/votes", "votes"),
            (.post, "/v1/conversations/\(id)/messages/\(id)/close", "closePoll"),
            (.delete, "/v1/conversations/\(id)/messages/\(id)/pin", "unpinMessage"),
            (.delete, "/v1/conversations/\(id)/bans/ben", "liftBan"),
            (.get, "/v1/conversations/\(id)/join-requests", "joinRequests"),
            (.delete, "/v1/conversations/\(id)/join-requests/ben", "declineJoinRequest"),
            (.get, "/v1/conversations/\(id)/invitations", "invitations"),
            (.post, "/v1/conversations/\(id)/invitations", "createInvitation"),
            (.delete, "/v1/conversations/\(id)/invitations/\(id)", "revokeInvitation"),
            (.get, "/v1/invitations/code", "invitation"), (.post, "/v1/invitations/code", "join"),
            (.delete, "/v1/conversations/\(id)", "unlist"),
            (.patch, "/v1/conversations/\(id)/messages/\(id)", "edit"),
            (.get, "/v1/unread", "unreadTotal"), (.get, "/v1/blocks", "blocks"),
            (.get, "/v1/profiles", "profiles"), (.put, "/v1/profile", "putProfile"),
            (.put, "/v1/blocks/ben", "block"), (.delete, "/v1/blocks/ben", "unblock"),
            (.get, "/v1/requests", "requests"), (.put, "/v1/conversations/\(id)/acceptance", "acceptRequest"),
            (.delete, "/v1/conversations/\(id)/acceptance", "declineRequest"),
            (.put, "/v1/conversations/\(id)/mute", "mute"), (.delete, "/v1/conversations/\(id)/mute", "unmute"),
            (.put, "/v1/conversations/\(id)/pin", "pin"), (.delete, "/v1/conversations/\(id)/pin", "unpin"),
            (.put, "/v1/conversations/\(id)/archive", "archive"),
            (.delete, "/v1/conversations/\(id)/archive", "unarchive"),
            (.put, "/v1/conversations/\(id)/unread", "markUnread"),
            (.delete, "/v1/conversations/\(id)/unread", "unmarkUnread"),
            (.put, "/v1/conversations/\(id)/draft", "putDraft"),
            (.put, "/v1/conversations/\(id)/scheduled/\(id)", "schedule"),
            (.delete, "/v1/conversations/\(id)/scheduled/\(id)", "cancelScheduled"),
            (.get, "/v1/scheduled", "scheduled"),
            (.delete, "/v1/conversations/\(id)/draft", "removeDraft"),
            (.delete, "/v1/conversations/\(id)/messages/\(id)", "delete"),
            (.get, "/v1/conversations/\(id)/messages/\(id)/revisions", "revisions"),
            (.put, "/v1/conversations/\(id)/messages/\(id)/tapback", "setTapback"),
            (.delete, "/v1/conversations/\(id)/messages/\(id)/tapback", "removeTapback"),
            (.get, "/v1/conversations/\(id)/messages/\(id)/tapbacks", "tapbacks"),
            (.get, "/v1/conversations/\(id)/messages/\(id)/receipts", "messageReceipts"),
        ] as [(Edge.Method, String, String)])
    func found(method: Edge.Method, path: String, call: String) { #expect(find(method, path) == call) }

    @Test(
        "any other path is not found",
        arguments: [
            "", "/", "/v1", "/v1/", "/v1/limits/", "//v1/limits", "/V1/limits", "/v2/limits", "/v1/conversations/",
            "/v1/export", "/v1/export/users", "/v1/export/users/", "/v1/export/members/ben", "/v1/export/users/ben/",
            "/v1/conversations//members", "/v1/conversations/\(id)/", "/v1/conversations/\(id)/messages/",
            "/v1/conversations/\(id)/messages/\(id)/", "/v1/conversations/\(id)/members/",
            "/v1/conversations/\(id)/members/ben/", "/v1/conversations/\(id)/bans/ben/",
            "/v1/conversations/\(id)/join-requests/ben/",
            "/v1/invitations", "/v1/invitations/", "/v1/invitations/code/",
            "/v1/conversations/\(id)/invitations/\(id)/",
            "/v1/audit/", "/v1/audit/1",
            "/v1/reports/", "/v1/reports/\(id)", "/v1/conversations/\(id)/reports", "/v1/conversations/\(id)/reports/",
            "/v1/conversations/\(id)/reports/\(id)/x", "/v1/conversations/\(id)/reports/\(id)/resolution/",
            "/v1/conversations/\(id)/messages/\(id)/resolution",
            "/v1/conversations/\(id)/members/ben/tapback",
            "/v1/conversations/\(id)/changes/3", "/v1/conversations/\(id)/digest/",
            "/v1/conversations/\(id)/messages//tapback",
            "/v1/conversations/\(id)/messages/\(id)/tapback/", "/v1/conversations/\(id)/messages/\(id)/x",
            "/v1/conversations/\(id)/messages/\(id)/receipts/", "/v1/messages", "/v1/messages:batch/x",
            "/openapi.json/",
            "/v1/conversation/\(id)", "/v1/users", "/v1/users/", "/v1/users/ben/x", "/v1/users//revoke",
            "/v1/users/ben/suspension/", "/v1/users/ben/revoke/", "/v1/settings/", "/v1/settings/ben",
            "/v1/conversations/\(id)/settings/ben", "/v1/unread/", "/v1/conversations/\(id)/mute/", "/v1/mute",
        ])
    func notFound(path: String) {
        for method in [Edge.Method.get, .post, .put, .delete] { #expect(find(method, path) == "404") }
    }

    @Test(
        "a path with other methods lists them",
        arguments: [
            (.put, "/v1/conversations", "405 GET, HEAD, POST"), (.post, "/v1/limits", "405 GET, HEAD"),
            (.post, "/v1/sync", "405 GET, HEAD"), (.delete, "/v1/settings", "405 GET, HEAD, PUT"),
            (.patch, "/v1/conversations/\(id)/settings", "405 GET, HEAD, PUT"),
            (.post, "/v1/export/users/ben", "405 GET, HEAD"), (.get, "/v1/users/ben", "405 DELETE"),
            (.delete, "/v1/users/ben/revoke", "405 POST"),
            (.post, "/v1/users/ben/suspension", "405 GET, HEAD, PUT, DELETE"),
            (.put, "/v1/reports", "405 GET, HEAD, POST"), (.delete, "/v1/audit", "405 GET, HEAD"),
            (.delete, "/v1/conversations/\(id)/reports/\(id)", "405 GET, HEAD"),
            (.get, "/v1/conversations/\(id)/reports/\(id)/resolution", "405 POST"),
            (.get, "/v1/conversations/\(id)/retention", "405 PUT"),
            (.get, "/v1/messages:batch", "405 POST"), (.get, "/v1/conversations/\(id)/receipts", "405 POST"),
            (.other, "/v1/conversations/\(id)/messages", "405 GET, HEAD, POST"),
            (.post, "/v1/conversations/\(id)/digest", "405 GET, HEAD"),
            (.put, "/v1/conversations/\(id)", "405 GET, HEAD, PATCH, DELETE"),
            (.get, "/v1/conversations/\(id)/members/ben", "405 PUT, DELETE"),
            (.get, "/v1/conversations/\(id)/history", "405 DELETE"), (.put, "/v1/unread", "405 GET, HEAD"),
            (.get, "/v1/conversations/\(id)/pin", "405 PUT, DELETE"),
            (.put, "/v1/conversations/\(id)/messages/\(id)", "405 GET, HEAD, PATCH, DELETE"),
            (.post, "/v1/conversations/\(id)/messages/\(id)/revisions", "405 GET, HEAD"),
            (.get, "/v1/conversations/\(id)/messages/\(id)/tapback", "405 PUT, DELETE"),
            (.delete, "/v1/conversations/\(id)/messages/\(id)/tapbacks", "405 GET, HEAD"),
            (.post, "/v1/conversations/\(id)/messages/\(id)/receipts", "405 GET, HEAD"),
        ] as [(Edge.Method, String, String)])
    func methods(method: Edge.Method, path: String, result: String) { #expect(find(method, path) == result) }

    @Test(
        "an id in the path must be a UUID in lower case",
        arguments: [
            (id, true), (id.uppercased(), false), ("x", false), ("%00", false), (String(id.dropLast()), false),
            ("00000000-0000-0000-0000-000000000000", false), ("00000000-0000-0000-0000-000000000001", true),
            ("0198c2a4-5d10-7c3e-ca41-3f0c5b7e2d90", true),
        ])
    func identifiers(text: String, isValid: Bool) {
        Array("/v1/conversations/\(text)/messages/\(text)".utf8).withUnsafeBytes { bytes in
            guard case .route(let route) = Route.find(.get, bytes) else {
                Issue.record("no route")
                return
            }
            #expect((try? route.conversation())?.description == (isValid ? text : nil))
            #expect((try? route.message())?.description == (isValid ? text : nil))
        }
    }

    @Test(
        "a member in the path is a user id, percent-encoded or not",
        arguments: [
            ("ben", "ben"), ("a+b", "a+b"), ("a%2Bb", "a+b"), ("%62en%40example.org", "ben@example.org"),
            ("b%20n", nil),
            ("b%2Fn", nil), ("b%C3%A9n", nil), ("b%", nil), ("b%4", nil), ("b%4g", nil), ("b%00", nil),
            (String(repeating: "b", count: 64), String(repeating: "b", count: 64)),
            (String(repeating: "b", count: 65), nil),
        ] as [(String, String?)])
    func member(text: String, name: String?) {
        Array("/v1/conversations/\(id)/members/\(text)".utf8).withUnsafeBytes { bytes in
            guard case .route(let route) = Route.find(.put, bytes) else {
                Issue.record("no route")
                return
            }
            do throws(Problem) {
                #expect(try route.member().name == name)
            } catch {
                #expect(name == nil && error.code == .invalid && error.detail.hasPrefix("userId: "))
            }
        }
    }
}

@Suite struct QueryParametersTests {
    private func read<Value>(_ query: String, _ body: (QueryParameters) throws -> Value) rethrows -> Value {
        try Array("/?\(query)".utf8).withUnsafeBytes { try body(QueryParameters(RequestTarget($0))) }
    }

    @Test(
        "a limit is a whole number in its range, or refused by its name",
        arguments: [
            ("", 50), ("limit=1", 1), ("limit=200", 200), ("x=1&limit=7", 7), ("limit=0", nil), ("limit=201", nil),
            ("limit=-1", nil), ("limit=+1", nil), ("limit=01", nil), ("limit=1.0", nil), ("limit=", nil),
            ("limit", nil),
            ("limit=1&limit=1", nil), ("limit=99999999999999999999", nil), ("limit=%31", nil),
        ] as [(String, UInt16?)])
    func limit(query: String, limit: UInt16?) {
        do {
            #expect(try read(query) { try $0.limit(50, atMost: 200) } == limit)
        } catch {
            #expect(limit == nil && (error as? Problem)?.code == .invalid)
            #expect((error as? Problem)?.detail.hasPrefix("limit: ") == true)
        }
    }

    @Test(
        "a page of history has at most one anchor",
        arguments: [
            ("", .latest), ("before=3", .before(3)), ("after=0", .after(0)),
            ("around=9007199254740991", .around(1 << 53 - 1)),
            ("before=0", nil), ("around=0", nil), ("before=9007199254740992", nil), ("before=3&after=2", nil),
            ("after=1&around=1", nil), ("after=1&after=1", nil),
        ] as [(String, HistoryQuery.Anchor?)])
    func anchor(query: String, anchor: HistoryQuery.Anchor?) {
        #expect((try? read(query) { try $0.anchor() }) == anchor)
    }

    @Test(
        "the scope of a deletion is one of two words",
        arguments: [
            ("", false), ("scope=me", false), ("scope=everyone", true), ("scope=", nil), ("scope=Everyone", nil),
            ("scope=all", nil), ("scope=me&scope=everyone", nil),
        ] as [(String, Bool?)])
    func scope(query: String, isForEveryone: Bool?) {
        #expect((try? read(query) { try $0.isForEveryone() }) == isForEveryone)
    }

    @Test("a plus in a user id is a plus, encoded or not", arguments: ["after=a%2Bb", "after=a+b"])
    func user(query: String) { #expect((try? read(query) { try $0.user("after") }) == "a+b") }

    @Test("a cursor's text round-trips, and any other text is refused")
    func cursor() throws {
        let cursor = ActivityCursor(
            lastActivityAt: Timestamp(milliseconds: 1_772_902_251_250), conversation: ConversationID(UUIDBytes(id)!))
        #expect(try read("before=\(cursor.text)") { try $0.cursor() } == cursor)
        #expect(try read("") { try $0.cursor() } == .start)
        for wrong in ["before=", "before=x", "before=1_2", "before=%ff"] {
            #expect(throws: Problem.self) { try read(wrong) { try $0.cursor() } }
        }
    }
}
