import Glibc
import Testing

@testable import ServiceKit

@Suite struct EnvironmentTests {
    @Test(
        "every password that libpq recognises is masked",
        arguments: [
            ("postgres://a:hush@db:1/p?sslmode=require", "postgres://a:***@db:1/p?sslmode=require"),
            ("postgres://a:hu@sh@db/p", "postgres://a:***@db/p"),
            ("postgresql://db/p?user=a&password=hush&x=y", "postgresql://db/p?user=a&password=***&x=y"),
            ("postgresql://a@db/p?%70assword=hu@sh", "postgresql://a@db/p?%70assword=***"),
            ("postgres:///p?sslpassword=hush", "postgres:///p?sslpassword=***"),
            ("host=h password = 'hu sh \\' hush' user=a", "host=h password=*** user=a"),
            ("password=hu\\ sh host=h", "password=*** host=h"), ("password", "***"),
            ("host=h password=hu://sh", "host=h password=***"), ("https://a:hush@h/x?y", "https://a:***@h/x?y"),
            ("tcp://store:7101,ipc:///run/store-*.sock", "tcp://store:7101,ipc:///run/store-*.sock"),
        ])
    func masking(value: String, shown: String) { #expect(maskingPassword(in: value) == shown) }

    @Test("a variable that is not set, or empty, has its default")
    func defaults() throws {
        var environment = Environment(["EMPTY": ""])
        #expect(environment.string("EMPTY", default: "a") == "a")
        #expect(try environment.integer("UNSET", default: 7, in: 0...9) == 7)
        #expect(try environment.address("UNSET", default: "127.0.0.1:80").port == 80)
        #expect(environment.list("UNSET", default: "a, b,,") == ["a", "b"])
        #expect(try environment.secret("UNSET") == nil)
    }

    @Test("a malformed variable is refused by its name")
    func malformed() {
        var environment = Environment(["N": "12a", "BIG": "10", "D": "5 s", "L": "localhost", "F": "yes"])
        #expect(throws: ConfigurationError("N", #"must be a whole number from 0 to 9, not "12a""#)) {
            try environment.integer("N", default: 1, in: 0...9)
        }
        #expect(throws: ConfigurationError.self) { try environment.integer("BIG", default: 1, in: 0...9) }
        #expect(throws: ConfigurationError.self) { try environment.duration("D", default: .zero) }
        #expect(throws: ConfigurationError.self) { try environment.address("L", default: "127.0.0.1:80") }
        #expect(throws: ConfigurationError.self) { try environment.flag("F", default: true) }
        #expect(throws: ConfigurationError("DATABASE", "must be set")) { try environment.requiredString("DATABASE") }
    }

    @Test(
        "a duration has a number and a unit",
        arguments: [
            ("250ms", .milliseconds(250)), ("5s", .seconds(5)), ("2m", .seconds(120)), ("1h", .seconds(3600)),
            ("5", nil), ("s", nil), ("", nil), ("-5s", nil), ("1.5s", nil), ("9999999999s", nil),
        ] as [(String, Duration?)])
    func durations(text: String, expected: Duration?) {
        #expect(Duration(text: text) == expected)
    }

    @Test(
        "a listen address is host and port",
        arguments: [
            ("127.0.0.1:8080", "127.0.0.1:8080"), ("[::1]:1", "[::1]:1"), ("*:80", "0.0.0.0:80"), (":80", nil),
            ("a:65536", nil), ("a:-1", nil), ("a", nil), ("a:", nil),
        ] as [(String, String?)])
    func addresses(text: String, expected: String?) {
        #expect(ListenAddress(text)?.description == expected)
    }

    @Test("the summary shows the effective values, and no secret")
    func summary() throws {
        var environment = Environment([
            "SECRET": "hush-hush", "URL": "postgresql://store:hush@db/parley",
            "CONNINFO": "host=/run password=hush user=a",
        ])
        _ = try environment.secret("SECRET")
        _ = try environment.requiredString("URL")
        _ = try environment.requiredString("CONNINFO")
        _ = try environment.integer("LIMIT", default: 5, in: 1...9)
        let summary = environment.summary.map { "\($0.name)=\($0.value)" }
        #expect(
            summary == [
                "SECRET=(set)", "URL=postgresql://store:***@db/parley", "CONNINFO=host=/run password=*** user=a",
                "LIMIT=5",
            ])
    }

    @Test("a secret may come from the variable or from a file, without its line break, but not from both")
    func secretFile() throws {
        let path = "/tmp/parley-secret-\(getpid())"
        let file = try #require(fopen(path, "w"))
        fputs("0123456789\n", file)
        fclose(file)
        defer { unlink(path) }

        var environment = Environment(["A_FILE": path, "B_FILE": path + "-none", "C": "x", "C_FILE": path])
        #expect(try environment.secret("A") == "0123456789")
        #expect(throws: ConfigurationError.self) { try environment.secret("B") }
        #expect(throws: ConfigurationError.self) { try environment.secret("C") }
    }
}
