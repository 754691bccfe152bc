import CLinux
import Glibc

/// The file on a descriptor, as memory. Mapping it reads nothing: that happens when its bytes are looked at, and needs no
/// system call then.
struct MappedFile {
    let bytes: UnsafeRawBufferPointer

    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let length = Int(status.st_size)
        guard length > 0 else {
            bytes = UnsafeRawBufferPointer(start: nil, count: 0)
            return
        }
        let start = mmap(nil, length, PROT_READ, MAP_PRIVATE, descriptor, 0)
        guard start != MAP_FAILED else { return nil }
        bytes = UnsafeRawBufferPointer(start: start, count: length)
    }
}
