import Models
import Testing
import Wire

@testable import Ingest

@Suite struct ProfileFieldsTests {
    private func fields(_ body: String) throws(Problem) -> [String] {
        var body = body
        do {
            return try body.withUTF8 { bytes in
                let fields = try ProfileFields(UnsafeRawBufferPointer(bytes))
                return [try fields.checkedName(), try fields.checkedURL(), try fields.checkedExtra()]
            }
        } catch let problem as Problem {
            throw problem
        } catch {
            preconditionFailure("only problems are thrown")
        }
    }

    private func name(_ name: String) throws -> String { try fields(#"{"displayName":"\#(name)"}"#)[0] }
    private func url(_ url: String) throws -> String { try fields(#"{"avatarUrl":"\#(url)"}"#)[1] }
    private func extra(_ extra: String) throws -> String { try fields(#"{"extra":\#(extra)}"#)[2] }

    @Test("what is missing or null is none, and what is unknown is ignored")
    func none() throws {
        #expect(try fields("{}") == ["", "", ""])
        #expect(try fields(#"{"displayName":null,"avatarUrl":null,"extra":null,"later":[{}]}"#) == ["", "", ""])
    }

    @Test(
        "names of all scripts, with emoji and marks",
        arguments: [
            "Ben", "x", "Ünal Ö.", "宮本 武蔵", "דוד\u{200F}", "محمد", "🧗🏽‍♀️ Jo", "ᜊᜓ", String(repeating: "ä", count: 80),
        ])
    func names(of value: String) throws { #expect(try name(value) == value) }

    @Test(
        "no name that is blank, breaks the line, or turns around what stands beside it",
        arguments: [
            "", " ", #"\u00a0\u2003"#, #"a\nb"#, #"a\u0007"#, #"a\u0085b"#, #"a\u2028b"#, "a\u{2029}b", "a\u{202E}b",
            #"\u2066a"#,
            #"a\u202ab"#, #"a\u2069"#, "a\u{7F}",
        ])
    func badNames(of value: String) {
        #expect { try name(value) } throws: { ($0 as? Problem)?.code == .invalid && "\($0)".contains("displayName") }
    }

    @Test(
        "addresses",
        arguments: [
            "https://a", "https://a.example/b.png?c=d#e", "https://[2001:db8::1]:8443/a", "https://a/@b",
            "https://xn--bcher-kva.example/%C3%A9",
        ])
    func urls(of value: String) throws { #expect(try url(value) == value) }

    @Test(
        "no address of another scheme, without a host, with a user, or with what no URL has",
        arguments: [
            "", "http://a/b", "HTTPS://a", "//a/b", "/b", "https:///b", "https://", "https://?a", "https://-a",
            "https://a@b/c",
            "https://a:b@c", "https://a b", "https://a/é", #"https://a/\""#, #"https://a\\b"#, "javascript:alert(1)",
            "data:,a",
            " https://a", #"https://a/\u0009"#,
        ])
    func badURLs(of value: String) {
        #expect { try url(value) } throws: { ($0 as? Problem)?.code == .invalid && "\($0)".contains("avatarUrl") }
    }

    @Test(
        "the application's own JSON is kept as it is written",
        arguments: ["{}", #"{ "a" : [1.50, -0, "]}\"\\"] }"#, nested(16)])
    func extras(of value: String) throws { #expect(try extra(value) == value) }

    @Test("it is an object", arguments: ["[]", "1", "\"a\"", #"{"a":01}"#, #"{"a":"\u0000"}"#, #"{"a":"\ud800"}"#])
    func badExtras(of value: String) {
        #expect { try extra(value) } throws: { ($0 as? Problem)?.code == .invalid && "\($0)".contains("extra") }
    }

    @Test("on both sides of the limits")
    func limits() throws {
        let isTooLarge: (any Error) -> Bool = { ($0 as? Problem)?.code == .tooLarge }
        #expect { try name(String(repeating: "ä", count: 81)) } throws: { isTooLarge($0) }
        let path = String(repeating: "a", count: ContractLimits.avatarURLBytes - 10)
        #expect(try url("https://a/\(path)").utf8.count == ContractLimits.avatarURLBytes)
        #expect { try url("https://a/\(path)a") } throws: { isTooLarge($0) }
        let text = String(repeating: "é", count: ContractLimits.profileExtraBytes / 2 - 4)
        #expect(try extra(#"{"a":"\#(text)"}"#).utf8.count == ContractLimits.profileExtraBytes)
        #expect { try extra(#"{"a":"\#(text)é"}"#) } throws: { isTooLarge($0) }
        #expect { try extra(nested(17)) } throws: { isTooLarge($0) }
    }
}

/// An object with this many levels.
private func nested(_ levels: Int) -> String {
    #"{"a":"# + String(repeating: "[", count: levels - 1) + String(repeating: "]", count: levels - 1) + "}"
}
