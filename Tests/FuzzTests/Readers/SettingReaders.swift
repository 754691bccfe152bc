import Bus

@testable import Postgres
@testable import ServiceKit

extension Reader {
    /// URLs and connection strings of databases. Whatever libpq takes for a password is not shown at start.
    static let databaseURL = Reader(
        "databaseURL", "postgres://alice:\(hidden)@db-1,db-2:5433/parley?sslmode=require&connect_timeout=3",
        "postgresql://alice@[::1]:5432/parley?password=\(hidden)&application_name=x%20y",
        "host=/run/a,db port=5432,5433 user=alice password='\(hidden) it\\'s'",
        "host=db password = \(hidden) sslpassword=\(hidden) dbname=parley", "host=db hostaddr=127.0.0.1 port=1"
    ) { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        guard let url = DatabaseURL(text) else { return nil }
        guard url.hostCount > 0 else { return false }
        let passwords = url.parameters.filter { $0.0.hasSuffix("password") }.map(\.1).joined(separator: " ")
        // Damage can make the same word a part of something else too, which is shown.
        guard occurrences(in: text) <= occurrences(in: passwords) else { return true }
        return occurrences(in: maskingPassword(in: text)) == 0
    }

    private static let hidden = "s3cr3t"

    private static func occurrences(in text: String) -> Int { text.ranges(of: hidden).count }

    /// Other values of a service's environment.
    static let configuration = Reader(
        "configuration", "tcp://store:7101, ipc:///run/parley/store-*.sock", "tcp://[::1]:7101", "127.0.0.1:8080",
        "[::1]:8080", "*:80", "250ms", "1000000000h"
    ) { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        if let address = ListenAddress(text) { return ListenAddress(address.description) == address }
        if let duration = Duration(text: text) { return duration >= .zero && duration.nanoseconds >= 0 }
        return (try? Endpoint.parse(list: text)).map { _ in true }
    }
}
