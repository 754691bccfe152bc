import Bus
import Glibc
import ServiceKit
import Testing
import Wire

@Suite struct BusConfigurationTests {
    /// A directory with the keys of every role, removed at the end of the test.
    final class KeyDirectory {
        let path: String
        let pairs = Dictionary(uniqueKeysWithValues: Role.allCases.map { ($0, BusKeyPair.random()) })

        init() {
            var template = Array("/tmp/parley-keys-XXXXXX".utf8CString)
            path = String(cString: mkdtemp(&template)!)
            for (role, pair) in pairs {
                write(pair.secretKey.text, "\(role.rawValue).key")
                write(pair.publicKey.text, "\(role.rawValue).pub")
            }
        }

        func write(_ text: String, _ name: String) {
            let file = fopen("\(path)/\(name)", "w")!
            fputs(text + "\n", file)
            fclose(file)
        }

        deinit {
            for role in Role.allCases {
                for suffix in ["key", "pub"] { unlink("\(path)/\(role.rawValue).\(suffix)") }
            }
            rmdir(path)
        }

        func configuration(_ role: Role) throws(ConfigurationError) -> BusConfiguration {
            var environment = Environment(["PARLEY_BUS_KEYS": path])
            return try BusConfiguration(role, environment: &environment)
        }
    }

    @Test("a process subscribes to the endpoints of its roles, and has keys if configured")
    func roles() throws {
        var environment = Environment(["PARLEY_BUS_STORE": "tcp://a:1,tcp://b:2"])
        let plain = try BusConfiguration(.ingest, environment: &environment)
        #expect(plain.keys == nil)
        #expect(Set(plain.peers.keys) == [.store, .receipt, .media])
        #expect(plain.peers[.store] == [.tcp(host: "a", port: 1), .tcp(host: "b", port: 2)])

        let directory = KeyDirectory()
        let keys = try #require(try directory.configuration(.fanout).keys)
        #expect(keys.role == .fanout)
        #expect(keys.own.secretKey == directory.pairs[.fanout]?.secretKey)
        #expect(keys.publicKeys == directory.pairs.mapValues(\.publicKey))
    }

    @Test("a process needs no secret key but its own")
    func otherSecrets() throws {
        let directory = KeyDirectory()
        for role in Role.allCases where role != .store { unlink("\(directory.path)/\(role.rawValue).key") }
        #expect(try directory.configuration(.store).keys != nil)
        #expect(throws: ConfigurationError.self) { try directory.configuration(.ingest) }
    }

    @Test("without a key of an optional role nobody of it joins, and its own process does not start")
    func optionalRole() throws {
        let directory = KeyDirectory()
        unlink("\(directory.path)/media.pub")
        #expect(try directory.configuration(.store).keys?.publicKeys.keys.contains(.media) == false)
        #expect(throws: ConfigurationError.self) { try directory.configuration(.media) }
    }

    @Test("keys that are missing, malformed or not a pair stop the start")
    func badKeys() {
        let directory = KeyDirectory()
        directory.write(directory.pairs[.ingest]!.secretKey.text, "store.key")
        #expect(throws: ConfigurationError.self) { try directory.configuration(.store) }
        directory.write("short", "store.key")
        #expect(throws: ConfigurationError.self) { try directory.configuration(.store) }
        unlink("\(directory.path)/fanout.pub")
        #expect(throws: ConfigurationError.self) { try directory.configuration(.ingest) }
    }
}
