import Glibc

/// How much of a core the processes of a system use, and the PostgreSQL backend that commits the signals.
struct ProcessTimes {
    private let processes: [(name: String, id: Int)]
    private let before: [Double]

    /// Reads the ids that deploy/dev writes.
    init(run: String, backend: Int) {
        processes =
            ["receipt-0", "store-0", "fanout-0"].compactMap { name in
                Self.text(of: "\(run)/\(name).pid").flatMap { Int($0.filter(\.isNumber)) }.map { (name, $0) }
            } + [("postgres (signals)", backend), ("load", Int(getpid()))]
        before = processes.map { Self.seconds(of: $0.id) }
    }

    /// Since the beginning, `seconds` ago.
    func shares(of seconds: Double) -> [(name: String, share: Double)] {
        zip(processes, before).map { process, before in
            (process.name, (Self.seconds(of: process.id) - before) / seconds)
        }
    }

    /// User and system time: fields 14 and 15 of proc(5), counted behind the name, which may hold anything.
    private static func seconds(of id: Int) -> Double {
        guard let text = text(of: "/proc/\(id)/stat"), let end = text.lastIndex(of: ")") else { return 0 }
        let fields = text[end...].split(separator: " ")
        return ((Double(fields[12]) ?? 0) + (Double(fields[13]) ?? 0)) / Double(sysconf(CInt(_SC_CLK_TCK)))
    }

    private static func text(of path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
