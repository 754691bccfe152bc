import Glibc
import Testing

@testable import Media

struct VirusScannerTests {
    @Test(
        "Only what clamd calls clean is clean",
        arguments: [
            ("stream: OK", .clean), ("stream: Eicar-Test FOUND", .infected), ("stream: OK ", .failed), ("", .failed),
            ("INSTREAM size limit exceeded. ERROR", .tooLarge), ("stream: OK FOUND", .infected),
            ("stream: Heuristics.Limits.Exceeded.MaxFileSize FOUND", .tooLarge), ("UNKNOWN COMMAND", .failed),
            ("stream: Can't allocate memory ERROR", .failed),
        ] as [(String, ScanVerdict)])
    func verdicts(reply: String, verdict: ScanVerdict) { #expect(ScanVerdict(reply: reply) == verdict) }

    @Test(
        "An address is a socket's path, or a host and its port",
        arguments: [
            ("unix:/run/clamav/clamd.ctl", .local(path: "/run/clamav/clamd.ctl")),
            ("tcp://127.0.0.1:3310", .network(host: "127.0.0.1", port: "3310")),
            ("tcp://[::1]:3310", .network(host: "::1", port: "3310")),
        ] as [(String, VirusScanner.Address)])
    func addresses(text: String, address: VirusScanner.Address) {
        #expect(VirusScanner(text)?.address == address)
        #expect(VirusScanner(text)?.description == text.filter { $0 != "[" && $0 != "]" })
    }

    @Test(
        "What is neither is refused",
        arguments: [
            "", "unix:relative", "tcp://", "tcp://:3310", "tcp://host", "tcp://host:0", "tcp://host:65536", "host:3310",
        ])
    func refusedAddresses(text: String) { #expect(VirusScanner(text) == nil) }

    @Test("A clamd that hangs is away, so the file is not to blame")
    func silence() throws {
        // The kernel takes connections and what is sent, and nobody accepts them.
        let path = "/tmp/parley-clamd-\(UInt32.random(in: 0 ... .max))"
        let listener = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        defer {
            close(listener)
            unlink(path)
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafeBytes(of: &address) {
            bind(listener, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t($0.count)) == 0
        }
        try #require(isBound && listen(listener, 8) == 0)
        let scanner = try #require(VirusScanner("unix:\(path)", secondsLimit: 1))
        let file = try OpenFile("/dev/null", O_RDONLY)
        let error = #expect(throws: FileError.self) { try scanner.scan(file) }
        #expect(error?.isOfFile == false && error?.isAway == true)
    }
}
