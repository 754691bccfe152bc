import Foundation
import Models
import ModelsSupport
import Testing

/// The types are those of `openapi.json`: all of its schemas, with all of their properties, and none that it has not.
@Suite struct SchemaTests {
    private static let document = Document.file
    private static let withType = document.schemas.keys.filter { !SchemaTypes.clientFrames.contains($0) }.sorted()

    /// A reference to a parent is one type, whose position is optional because the parent may be unavailable.
    private static let laxer: [String: Set<String>] = ["BareReference": ["seq"]]

    private func recode(_ value: Any, as schema: String) throws -> String {
        let recoded = try SchemaTypes.recode(Data(canonical(value).utf8), as: schema)
        return canonical(try #require(recoded))
    }

    @Test("every schema has a type, and every type a schema")
    func complete() {
        let named = Set(SchemaTypes.all.keys).union(SchemaTypes.clientFrames)
        #expect(named == Set(Self.document.schemas.keys))
    }

    @Test("a value with all properties comes back as it was", arguments: withType)
    func everything(schema: String) throws {
        let value = Self.document.value(of: schema, .everything)
        #expect(try recode(value, as: schema) == canonical(value))
    }

    @Test("a value with the required properties alone comes back as it was", arguments: withType)
    func onlyRequired(schema: String) throws {
        let value = Self.document.value(of: schema, .onlyRequired)
        #expect(try recode(value, as: schema) == canonical(value))
    }

    @Test("a value without one of the required properties is refused", arguments: withType)
    func required(schema: String) {
        guard let value = Self.document.value(of: schema, .everything) as? Document.Schema else { return }
        for key in Self.document.required(Self.document.schemas[schema]!).subtracting(Self.laxer[schema] ?? []) {
            var lacking = value
            lacking[key] = nil
            #expect(throws: DecodingError.self, "\(key)") { try recode(lacking, as: schema) }
        }
    }

    @Test("fields that a later version adds are passed over", arguments: withType)
    func additional(schema: String) throws {
        guard var value = Self.document.value(of: schema, .everything) as? Document.Schema,
            Self.document.schemas[schema]!["additionalProperties"] == nil
        else { return }
        let known = canonical(value)
        value["later"] = ["than": 1]
        #expect(try recode(value, as: schema) == known)
    }

    @Test("an enumeration has the names of its schema", arguments: SchemaTypes.names.keys.sorted())
    func names(schema: String) throws {
        let names = try #require(Self.document.schemas[schema]?["enum"] as? [String])
        #expect(Set(SchemaTypes.names[schema]!) == Set(names))
        #expect(SchemaTypes.names[schema]!.count == names.count)
    }

    @Test("every schema that is an enumeration is compared")
    func enumerations() {
        #expect(Set(SchemaTypes.names.keys) == Set(Self.document.schemas.filter { $0.value["enum"] != nil }.keys))
    }

    @Test("the examples of the document come back as they are")
    func examples() throws {
        for (name, schema) in Self.document.schemas where Self.withType.contains(name) {
            for example in schema["examples"] as? [Any] ?? [] {
                #expect(try recode(example, as: name) == canonical(example))
            }
        }
        let digests = try #require(Self.document.root["x-parley-digest-example"] as? Document.Schema)
        for change in try #require(digests["changes"] as? [Any]) {
            #expect(try recode(change, as: "Change") == canonical(change))
        }
        #expect(try recode(digests["answer"]!, as: "DigestPage") == canonical(digests["answer"]!))
    }
}

/// The frames of the WebSocket, which the document lists beside the schemas.
@Suite struct FrameTests {
    private static var socket: Document.Schema { Document.file.root["x-parley-websocket"] as! Document.Schema }

    private static let conversation = ConversationID(UUIDBytes("0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90")!)
    private static let frames: [FrameFromClient] = [
        .hello(.init(token: "t")),
        .hello(
            .init(
                token: "t", cursors: [conversation: 14], useq: 3, statusVersions: [conversation: 2], logId: "l",
                capabilities: [])),
        .delivered([.init(conversationId: conversation, seq: 14)]),
        .read([.init(conversationId: conversation, seq: 14)]),
        .typing(conversationId: conversation, active: true),
        .auth(token: "t"),
        .ping(), .ping(id: "7"),
    ]

    @Test("the types of frames are those of the document")
    func types() throws {
        let server = try #require(Self.socket["serverFrames"] as? Document.Schema)
        let client = try #require(Self.socket["clientFrames"] as? Document.Schema)
        #expect(Set(SchemaTypes.names(ServerFrameType.self)) == Set(server.keys))
        #expect(Set(SchemaTypes.names(ClientFrameType.self)) == Set(client.keys))
        #expect(Set(Self.frames.map(\.type)) == Set(ClientFrameType.allCases))
    }

    @Test("a client's frame has the properties of its schema, and all of them are used")
    func clientFrames() throws {
        let described = try #require(Self.socket["clientFrames"] as? [String: [String: String]])
        var used: [String: Set<String>] = [:]
        for frame in Self.frames {
            let json = try JSONSerialization.jsonObject(with: JSONEncoder().encode(frame)) as! Document.Schema
            #expect(json["type"] as? String == frame.type.name.description)
            let schema = String(described[frame.type.name.description]!["$ref"]!.split(separator: "/").last!)
            #expect(Document.file.required(Document.file.schemas[schema]!).isSubset(of: json.keys))
            used[schema, default: []].formUnion(json.keys)
        }
        // Positions always go as `items`, which is one of the two forms.
        used["ReceiptFrame"]?.formUnion(["conversationId", "seq"])
        for schema in SchemaTypes.clientFrames {
            #expect(used[schema] == Set(Document.file.properties(Document.file.schemas[schema]!).keys), "\(schema)")
        }
    }

    @Test("a client's frame is the JSON of the document")
    func encoded() throws {
        let frames: [(FrameFromClient, String)] = [
            (
                .read([.init(conversationId: Self.conversation, seq: 14)]),
                #"{"type":"read","items":[{"conversationId":"0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90","seq":14}]}"#
            ),
            (
                .hello(.init(token: "t", cursors: [Self.conversation: 14], useq: 3)),
                #"{"type":"hello","token":"t","cursors":{"0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90":14},"useq":3}"#
            ),
        ]
        for (frame, json) in frames {
            #expect(try canonical(JSONEncoder().encode(frame)) == canonical(Data(json.utf8)))
        }
    }

    @Test("a code of `bye` has the close code that the document names for it", arguments: ByeCode.allCases)
    func closeCodes(code: ByeCode) throws {
        let codes = try #require(Self.socket["closeCodes"] as? [String: String])
        #expect(codes[String(code.closeCode)]?.hasPrefix("`\(code.name)`") == true)
    }
}
