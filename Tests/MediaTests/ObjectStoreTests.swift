import Glibc
import Models
import ServiceKit
import Testing

@testable import Media

/// What is sent to an object store, and read of it.
struct ObjectStoreTests {
    @Test(
        "An address names a bucket and what precedes its keys",
        arguments: [
            ("s3://files", "files", ""), ("s3://files/", "files", ""),
            ("s3://my.files-1/a/B_2.c", "my.files-1", "a/B_2.c/"),
        ])
    func addresses(url: String, bucket: String, prefix: String) throws {
        let address = try #require(S3Address(url: url))
        #expect((address.bucket, address.prefix) == (bucket, prefix))
    }

    @Test(
        "What would have to be encoded, or leads elsewhere, is no address",
        arguments: [
            "s3://", "s3://ab", "s3://Files", "s3://files/a b", "s3://files/../other", "s3://files//a", "s3://files?x",
            "s3://user@files", "http://files", "s3://files/a%2Fb",
        ])
    func refusedAddresses(url: String) { #expect(S3Address(url: url) == nil) }

    @Test("A key is two lines, and shows nothing of them")
    func keys() throws {
        let key = try #require(S3Key("AKIA123\r\nsecret/with+signs=\n"))
        #expect((key.name, key.secret) == ("AKIA123", "secret/with+signs="))
        #expect(!"\(key)".contains("secret"))
        #expect(S3Key("only one") == nil && S3Key("a\nb c") == nil && S3Key("a\nb\nc") == nil)
    }

    @Test(
        "Parts are as large as configured, unless there would be too many",
        arguments: [(1, 5), (50_000, 5), (50_001, 6)] as [(Int64, Int64)])
    func parts(megabytes: Int64, expected: Int64) throws {
        let configured: Int64 = 5 << 20, size = megabytes << 20
        let key = try #require(S3Key("a\nb"))
        let settings = S3Settings(
            endpoint: "http://s3", bucket: "files", prefix: "p/", region: "r", key: key, authorities: nil,
            partBytes: configured)
        let part = settings.partBytes(of: size)
        #expect(part == expected << 20 && (size + part - 1) / part <= S3Settings.partsLimit)
        #expect(settings.address(of: "objects/3f/a") == "http://s3/files/p/objects/3f/a")
        #expect(settings.address(of: "") == "http://s3/files")
    }

    @Test("A query has its names in order and its values encoded")
    func query() {
        let call = S3Call(method: .put, query: [("uploadId", "a/b+c="), ("partNumber", "7"), ("empty", "")])
        #expect(call.queryText == "?empty=&partNumber=7&uploadId=a%2Fb%2Bc%3D")
        #expect(S3Call(method: .get).queryText == "")
    }

    @Test("The digests of a body are as its receiver expects them")
    func digests() {
        let digests = FileDigests(of: "")
        #expect(digests.sha256 == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(digests.md5 == "1B2M2Y8AsgTpgAmY7PhCfg==")
    }

    @Test("Base64 is written as it is read", arguments: 0..<7)
    func base64(count: Int) {
        let bytes = (0..<count).map { UInt8(251 - 3 * $0) }
        #expect(Base64.decode(Array(Base64.encode(bytes).utf8)) == bytes)
    }

    @Test("Of the head of a response its tag and the object's size are read")
    func head() {
        var response = S3Response()
        for line in ["HTTP/1.1 206 Partial Content\r\n", "Etag: \"ab:c\"\r\n", "CONTENT-RANGE:bytes 0-9/3000000\r\n"] {
            response.read(headerLine: line)
        }
        #expect(response.tag == "\"ab:c\"" && response.size == 3_000_000)
        response.read(headerLine: "Content-Range: bytes 0-9/*\r\n")
        #expect(response.size == nil)
    }

    @Test("A list is read, with what is escaped in it")
    func lists() throws {
        let document = """
            <?xml version="1.0"?><List xmlns="http://s3"><IsTruncated>true</IsTruncated>
            <Contents><Size>7</Size><Key>a&amp;b</Key></Contents><Contents><Key>c</Key></Contents></List>
            """
        let list = try #require(XMLElement(Array(document.utf8)))
        #expect(list.name == "List" && list["IsTruncated"] == "true" && list["None"] == nil)
        #expect(list.all("Contents").map { $0["Key"] } == ["a&b", "c"])
        #expect(list.all("Contents").first?["Size"] == "7")
    }

    @Test(
        "What is no whole document, or nested without end, is none",
        arguments: [
            "", "<a>", "<a></b>", "text", "<a/><b/>",
            String(repeating: "<a>", count: 17) + String(repeating: "</a>", count: 17),
        ])
    func brokenDocuments(document: String) { #expect(XMLElement(Array(document.utf8)) == nil) }

    @Test("An error is told with its code and its message, a page of something else with its status")
    func errors() {
        let document = "<Error><Code>AccessDenied</Code><Message>No.</Message></Error>"
        #expect(S3Response(status: 403, body: Array(document.utf8)).explanation == "HTTP 403 AccessDenied: No.")
        #expect(S3Response(status: 502, body: Array("<html>".utf8)).explanation == "HTTP 502")
    }

    @Test(
        "Only what is known not to be there is absent: a bucket that is gone, and a proxy's page, say nothing of a file",
        arguments: [
            (404, "NoSuchKey", true), (404, "NoSuchUpload", true), (404, "NoSuchBucket", false), (404, "", false),
            (403, "NoSuchKey", false),
        ] as [(Int, String, Bool)])
    func absence(status: Int, code: String, isAbsent: Bool) {
        let document = code.isEmpty ? "<html>" : "<Error><Code>\(code)</Code></Error>"
        #expect(S3Response(status: status, body: Array(document.utf8)).isAbsent == isAbsent)
    }

    @Test("While the store is away, a call fails at once, until another has found out whether it is back")
    func outage() throws {
        #expect(try reasons(rest: .seconds(3600)) == ["Couldn't connect to server", "it was away a moment ago"])
        #expect(try reasons(rest: .zero) == ["Couldn't connect to server", "Couldn't connect to server"])
    }

    /// Why two calls fail, one behind the other, where nobody listens.
    private func reasons(rest: Duration) throws -> [String?] {
        let settings = S3Settings(
            endpoint: "http://127.0.0.1:1", bucket: "files", prefix: "", region: "r",
            key: try #require(S3Key("a\nb")), authorities: nil, partBytes: 1)
        let client = S3Client(settings, rest: rest)
        return (1...2).map { _ in
            let error = #expect(throws: FileError.self) { try client.send(S3Call(method: .get)) }
            #expect(error?.isAway == true)
            return error?.detail
        }
    }

    @Test("A storage needs what it is reached by, and is refused with the variable's name")
    func settings() throws {
        #expect(try refused(["PARLEY_MEDIA_STORAGE": "s3://files"]) == "PARLEY_MEDIA_S3_ENDPOINT")
        let endpoint = ["PARLEY_MEDIA_STORAGE": "s3://files", "PARLEY_MEDIA_S3_ENDPOINT": "https://[::1]:9000"]
        #expect(try refused(endpoint) == "PARLEY_MEDIA_S3_KEY_FILE")
        #expect(try refused(["PARLEY_MEDIA_S3_ENDPOINT": "https://s3/path"]) == "PARLEY_MEDIA_S3_ENDPOINT")
        #expect(try refused(["PARLEY_MEDIA_STORAGE": "ftp://files"]) == "PARLEY_MEDIA_STORAGE")
        #expect(try refused([:]) == nil)
    }

    /// The variable that is refused.
    private func refused(_ variables: [String: String]) throws -> String? {
        var environment = Environment(variables)
        do throws(ConfigurationError) {
            _ = try environment.mediaStorage()
            return nil
        } catch { return error.variable }
    }
}
