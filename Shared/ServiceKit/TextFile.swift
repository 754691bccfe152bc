import Glibc

/// Reads a small text file; nil with the reason in `errno`. Invalid UTF-8 is replaced.
public func readTextFile(_ path: String) -> String? {
    readFile(path).map { String(decoding: $0, as: UTF8.self) }
}

/// Reads a file; nil with the reason in `errno`. Stops after the first chunk that reaches `bound` bytes.
public func readFile(_ path: String, upTo bound: Int = .max) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var content: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
        let count = read(descriptor, &chunk, chunk.count)
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { return nil }
        if count == 0 { return content }
        content += chunk[..<count]
        if content.count >= bound { return content }
    }
}
