import Bytes
import Edge
import Models
import Testing

@testable import Media

private func route(_ method: Method, _ path: String, override: String? = nil, isHead: Bool = false) -> String {
    let bytes = Array(path.utf8), other = override.map { Array($0.utf8) }
    return bytes.withUnsafeBytes { path in
        (other ?? []).withUnsafeBytes { override in
            switch MediaRoute.find(method, isHead: isHead, override: other == nil ? nil : override, path) {
            case .route(let route): "\(route.call)"
            case .notFound: "404"
            case .methodNotAllowed: "405"
            }
        }
    }
}

struct AddressTests {
    private let id = MediaID.random(of: UserID("alice")!)
    private let signer = AddressSigner(key: "a key")

    private func allows(_ address: String, _ id: MediaID, _ part: ObjectPart, at seconds: Int64) -> Bool {
        Array(address.utf8).withUnsafeBytes { signer.allows(RequestTarget($0), id, part, at: seconds) }
    }

    @Test("A signed address is for its file, its part and its time", arguments: ObjectPart.allCases)
    func signed(part: ObjectPart) {
        let address = signer.address(id, part, until: 1_000)
        #expect(allows(address, id, part, at: 999))
        #expect(!allows(address, id, part, at: 1_000))
        #expect(!allows(address, .random(of: UserID("alice")!), part, at: 999))
        for other in ObjectPart.allCases where other != part { #expect(!allows(address, id, other, at: 999)) }
        #expect(!allows(address.replacing("expires=1000", with: "expires=1001"), id, part, at: 999))
        #expect(!allows(AddressSigner(key: "b").address(id, part, until: 1_000), id, part, at: 999))
    }

    @Test("An address cannot be signed for long", arguments: ["", "?signature=", "?expires=1&signature=a"])
    func malformed(query: String) {
        #expect(!allows("/v1/media/\(id)/content\(query)", id, .content, at: 0))
        #expect(!allows(signer.address(id, .content, until: 10_000), id, .content, at: 0))
    }

    @Test("An id is in the slot of its uploader, and chosen at random")
    func ids() {
        let ids = Set((0..<100).map { _ in MediaID.random(of: UserID("bob")!) })
        #expect(ids.count == 100)
        #expect(ids.allSatisfy { $0.slot == UserID("bob")!.slot && $0.uuid.version == 4 && $0.uuid.isStandardVariant })
    }

    @Test(
        "Methods and paths",
        arguments: [
            (Method.post, "/v1/media", "create"), (.options, "/v1/media", "options"), (.get, "/v1/media", "405"),
            (.patch, "/v1/media/x", "append"), (.delete, "/v1/media/x", "terminate"), (.get, "/v1/media/x", "object"),
            (.get, "/v1/media/x/content", "content"), (.get, "/v1/media/x/thumbnail", "thumbnail"),
            (.post, "/v1/media/x/url", "sign"), (.get, "/v1/media/x/url", "405"), (.post, "/v1/media/x/content", "405"),
            (.get, "/v1/media/x/content/y", "404"), (.get, "/v1/media/x/other", "404"), (.get, "/v1/medium", "404"),
            (.get, "/", "404"), (.post, "/v1/media/x", "405"),
        ])
    func routes(method: Method, path: String, expected: String) { #expect(route(method, path) == expected) }

    @Test("Clients that cannot send a method name it in a header")
    func overrides() {
        #expect(route(.post, "/v1/media/x", override: "PATCH") == "append")
        #expect(route(.post, "/v1/media/x", override: "DELETE") == "terminate")
        #expect(route(.post, "/v1/media/x", override: "HEAD") == "offset")
        #expect(route(.get, "/v1/media/x", override: "DELETE") == "object")
        #expect(route(.get, "/v1/media/x", isHead: true) == "offset")
    }

    @Test(
        "Names of files are read as they are written",
        arguments: [
            FileName(MediaID(UUIDBytes(high: 1, low: 2))), FileName(MediaID(UUIDBytes(high: 1, low: 2)), 7, .small),
        ])
    func fileNames(name: FileName) {
        #expect(FileName(name.description) == name)
        for other in ["", "x", name.description + ".", name.description + ".7.other.x", "." + name.description] {
            #expect(FileName(other) == nil)
        }
    }

    @Test("A duration is written in seconds")
    func seconds() {
        #expect(MediaObject.seconds(milliseconds: 12_345) == "12.345")
        #expect(MediaObject.seconds(milliseconds: 5) == "0.005")
    }
}
