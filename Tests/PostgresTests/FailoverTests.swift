import Glibc
import PostgresSupport
import Reactor
import TestSupport
import Testing

@testable import Postgres

/// Several hosts in one URL, of which one serves.
@Suite(.timeLimit(.minutes(1))) struct FailoverTests {
    let database: TestDatabase

    init() throws {
        ReactorThread.start()
        database = try TestDatabase()
    }

    /// The test's database as the last of two hosts.
    private func url(after host: String, port: String = "5432", _ more: String = "") -> String {
        let directory = database.url.split(separator: " ")[0].dropFirst("host=".count)
        return "host=\(host),\(directory) port=\(port),5432 user=postgres dbname=\(database.name) \(more)"
    }

    /// Opens a connection and returns it when it is up.
    @Reactor private func connect(_ url: String) async -> Connection {
        let connection = Connection(ConnectionConfiguration(url: url, applicationName: "test"))
        connection.open()
        await waitUntil { connection.isUp }
        return connection
    }

    @Test("a host that accepts and never answers does not keep the others from being tried")
    @Reactor func silentHost() async throws {
        let silent = SilentListener()
        let connection = await connect(url(after: "127.0.0.1", port: "\(silent.port)", "connect_timeout=1"))
        #expect(try await connection.query(sql: "SELECT current_database()::text")[0][0] as String == database.name)
        connection.close()
    }

    @Test(
        "a host that is not there, or whose name nobody knows, is passed over",
        arguments: ["/nowhere", "nowhere.invalid"])
    @Reactor func absentHost(host: String) async throws {
        await connect(url(after: host)).close()
    }

    @Test("a server that takes no writes is passed over, for migrations too")
    @Reactor func readOnlyServer() async throws {
        let readOnly = TestCluster(settings: "default_transaction_read_only=on")
        let connection = await connect(url(after: readOnly.directory))
        #expect(try await connection.query(sql: "SELECT current_database()::text")[0][0] as String == database.name)
        connection.close()
        let blocking = try BlockingConnection(
            url: url(after: readOnly.directory, "dbname=postgres"), applicationName: "test")
        #expect(try blocking.query("SHOW transaction_read_only")[0][0] as String == "off")
    }

    @Test("the connection goes over to the other host when its own is gone")
    @Reactor func goesOver() async throws {
        var first: TestCluster? = TestCluster()
        let directory = database.url.split(separator: " ")[0].dropFirst("host=".count)
        let connection = await connect("host=\(first!.directory),\(directory) user=postgres dbname=postgres")
        let socket = "SELECT current_setting('unix_socket_directories')"
        #expect(try await connection.query(sql: socket)[0][0] as String == first!.directory)
        first = nil
        await waitUntil { !connection.isUp }
        await waitUntil { connection.isUp }
        #expect(try await connection.query(sql: socket)[0][0] as String == String(directory))
        connection.close()
    }
}

@Suite struct DatabaseURLTests {
    private func places(_ url: String, attempts: Int) -> [String]? {
        DatabaseURL(url).map { url in
            (0..<attempts).map { number in
                url.keywords(forAttempt: number).filter { ["host", "hostaddr", "port"].contains($0.0) }
                    .map { "\($0.0)=\($0.1)" }.joined(separator: " ")
            }
        }
    }

    @Test("the hosts of a URL take turns, each with its port")
    func turns() {
        #expect(
            places("postgresql://store@192.0.2.1:1,192.0.2.2:2/parley", attempts: 3) == [
                "host=192.0.2.1 hostaddr=192.0.2.1 port=1", "host=192.0.2.2 hostaddr=192.0.2.2 port=2",
                "host=192.0.2.1 hostaddr=192.0.2.1 port=1",
            ])
    }

    @Test("one port stands for all hosts, and a host's own address needs no lookup")
    func lists() {
        #expect(
            places("host=/a,b hostaddr=,192.0.2.7 port=7 dbname=parley", attempts: 2) == [
                "host=/a port=7", "host=b hostaddr=192.0.2.7 port=7",
            ])
        #expect(places("dbname=parley", attempts: 1) == [""])
    }

    @Test("what libpq does not understand is left to libpq to complain about")
    func refused() {
        #expect(DatabaseURL("nonsense") == nil)
        #expect(DatabaseURL("host=a,b port=1,2,3") == nil)
    }

    @Test("what the URL says besides its hosts is kept, and its timeout holds")
    func rest() throws {
        let url = try #require(DatabaseURL("postgresql://u:p@h/parley?connect_timeout=7&target_session_attrs=any"))
        let keywords = Dictionary(uniqueKeysWithValues: url.keywords(forAttempt: 0))
        #expect(keywords["user"] == "u" && keywords["password"] == "p" && keywords["dbname"] == "parley")
        #expect(keywords["target_session_attrs"] == "any")
        #expect(url.connectTimeout == .seconds(7))
        #expect(DatabaseURL("connect_timeout=0")?.connectTimeout == nil)
    }
}

/// A port on which connections are accepted by the kernel and never answered.
private final class SilentListener {
    private let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    let port: UInt16

    init() {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        port = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard bind(descriptor, address, length) == 0, listen(descriptor, 16) == 0,
                    getsockname(descriptor, address, &length) == 0
                else { fatalError("no port to listen on: errno \(errno)") }
            }
            return UInt16(bigEndian: pointer.pointee.sin_port)
        }
    }

    deinit { close(descriptor) }
}
