internal import CLMDB

/// The operations of both kinds of transactions.
///
/// Returned buffers point into LMDB's own pages. A buffer is valid until the transaction ends or,
/// in a write transaction, until the next write.
package protocol Readable: ~Copyable {
    var handle: OpaquePointer { get }
    var path: String { get }
}

extension Readable where Self: ~Copyable {
    @_lifetime(borrow self)
    package func cursor(_ table: Table) throws(LMDBError) -> Cursor {
        try Cursor(table, in: handle, path: path)
    }

    @inline(__always)
    package func get(_ table: Table, _ key: UnsafeRawBufferPointer) throws(LMDBError)
        -> UnsafeRawBufferPointer?
    {
        var key = MDB_val(key)
        var value = MDB_val()
        let code = mdb_get(handle, table.handle, &key, &value)
        if code == MDB_NOTFOUND { return nil }
        guard code == MDB_SUCCESS else { throw LMDBError(code, path: path) }
        return UnsafeRawBufferPointer(value)
    }

    package func get(_ table: Table, _ key: [UInt8]) throws(LMDBError) -> UnsafeRawBufferPointer? {
        let found: Result<UnsafeRawBufferPointer?, LMDBError> = key.withUnsafeBytes { bytes in
            do throws(LMDBError) { return .success(try get(table, bytes)) } catch {
                return .failure(error)
            }
        }
        return try found.get()
    }

    package func get(_ table: Table, integer key: UInt64) throws(LMDBError)
        -> UnsafeRawBufferPointer?
    {
        var key = key
        var name = MDB_val(mv_size: 8, mv_data: nil)
        var value = MDB_val()
        let code = withUnsafeMutableBytes(of: &key) { bytes in
            name.mv_data = bytes.baseAddress
            return mdb_get(handle, table.handle, &name, &value)
        }
        if code == MDB_NOTFOUND { return nil }
        guard code == MDB_SUCCESS else { throw LMDBError(code, path: path) }
        return UnsafeRawBufferPointer(value)
    }

    /// Returns the number of entries in a table.
    package func count(_ table: Table) throws(LMDBError) -> Int {
        var stat = MDB_stat()
        let code = mdb_stat(handle, table.handle, &stat)
        guard code == MDB_SUCCESS else { throw LMDBError(code, path: path) }
        return stat.ms_entries
    }
}

/// A transaction that can write.
package protocol Writable: ~Copyable, Readable {}

extension Writable where Self: ~Copyable {
    package func put(_ table: Table, _ key: [UInt8], _ value: [UInt8]) throws(LMDBError) {
        let code = key.withUnsafeBytes { key in
            value.withUnsafeBytes { value in
                var name = MDB_val(key)
                var content = MDB_val(value)
                return mdb_put(handle, table.handle, &name, &content, 0)
            }
        }
        guard code == MDB_SUCCESS else { throw LMDBError(code, path: path) }
    }

    /// Adds or replaces an entry in a table with integer keys.
    package func put(_ table: Table, integer key: UInt64, _ value: [UInt8]) throws(LMDBError) {
        var key = key
        let code = withUnsafeMutableBytes(of: &key) { key in
            value.withUnsafeBytes { value in
                var name = MDB_val(UnsafeRawBufferPointer(key))
                var content = MDB_val(value)
                return mdb_put(handle, table.handle, &name, &content, 0)
            }
        }
        guard code == MDB_SUCCESS else { throw LMDBError(code, path: path) }
    }

    /// Removes an entry from a table with integer keys; returns whether it existed.
    @discardableResult
    package func delete(_ table: Table, integer key: UInt64) throws(LMDBError) -> Bool {
        var key = key
        let code = withUnsafeMutableBytes(of: &key) { bytes in
            var name = MDB_val(UnsafeRawBufferPointer(bytes))
            return mdb_del(handle, table.handle, &name, nil)
        }
        if code == MDB_NOTFOUND { return false }
        guard code == MDB_SUCCESS else { throw LMDBError(code, path: path) }
        return true
    }

    /// Removes an entry; returns whether it existed.
    @discardableResult
    package func delete(_ table: Table, _ key: [UInt8]) throws(LMDBError) -> Bool {
        let code = key.withUnsafeBytes { key in
            var name = MDB_val(key)
            return mdb_del(handle, table.handle, &name, nil)
        }
        if code == MDB_NOTFOUND { return false }
        guard code == MDB_SUCCESS else { throw LMDBError(code, path: path) }
        return true
    }
}

/// A second reference to an open transaction; see `WriteTransaction.alias`.
package struct TransactionAlias: Writable {
    package let handle: OpaquePointer
    package let path: String

    /// Returns a cursor that the caller must drop before the transaction ends.
    @_lifetime(immortal)
    package func cursor(_ table: Table) throws(LMDBError) -> Cursor {
        try Cursor(table, in: handle, path: path)
    }
}

/// A view of the file as of one commit.
package struct ReadTransaction: ~Copyable, Readable {
    package let handle: OpaquePointer
    package let path: String

    init(_ handle: OpaquePointer, path: String) {
        self.handle = handle
        self.path = path
    }

    /// A reference to this transaction for objects that cannot hold a borrow; see
    /// `WriteTransaction.alias`.
    package var alias: TransactionAlias { TransactionAlias(handle: handle, path: path) }

    /// The number of the commit that this transaction sees, which any process may have made.
    package var number: Int { mdb_txn_id(handle) }

    deinit { mdb_txn_abort(handle) }
}

/// A write transaction; a file has at most one at a time.
///
/// `commit()` ends the transaction. Dropping it without a commit undoes all changes.
package struct WriteTransaction: ~Copyable, Writable {
    package let handle: OpaquePointer
    package let path: String
    private var isOpen = true

    init(_ handle: OpaquePointer, path: String) {
        self.handle = handle
        self.path = path
    }

    @available(*, noasync)
    consuming func commit() throws(LMDBError) {
        // LMDB frees the handle even if the commit fails.
        isOpen = false
        let code = mdb_txn_commit(handle)
        guard code == MDB_SUCCESS else { throw LMDBError(code, path: path) }
    }

    /// A reference to this transaction for objects that cannot hold a borrow, such as the object
    /// that reads the items of a key.
    ///
    /// The holder must drop the alias before the transaction ends.
    package var alias: TransactionAlias { TransactionAlias(handle: handle, path: path) }

    /// The transaction's number, which is one more than that of the last commit by any process.
    package var number: Int { mdb_txn_id(handle) }

    /// Empties a table.
    package func clear(_ table: Table) throws(LMDBError) {
        let code = mdb_drop(handle, table.handle, 0)
        guard code == MDB_SUCCESS else { throw LMDBError(code, path: path) }
    }

    deinit {
        if isOpen { mdb_txn_abort(handle) }
    }
}

/// A named table of a file, called a database by LMDB.
package struct Table: Sendable {
    let handle: MDB_dbi

    init(named name: String, flags: UInt32, in transaction: OpaquePointer, path: String)
        throws(LMDBError)
    {
        var opened: MDB_dbi = 0
        let code = mdb_dbi_open(transaction, name, flags, &opened)
        guard code == MDB_SUCCESS else {
            if code == MDB_NOTFOUND {
                throw LMDBError(
                    .damaged, number: code, path: path, detail: "the table \(name) is missing")
            }
            throw LMDBError(code, path: path)
        }
        // LMDB takes the key order from the file and ignores the requested order. A check of the
        // pages may miss wrong flags, because small integers sort in the same order as their bytes.
        var found: UInt32 = 0
        let asked = mdb_dbi_flags(transaction, opened, &found)
        guard asked == MDB_SUCCESS else { throw LMDBError(asked, path: path) }
        guard found == flags & ~UInt32(MDB_CREATE) else {
            throw LMDBError(
                .damaged, path: path, detail: "the table \(name) has flags \(found)")
        }
        handle = opened
    }
}

extension MDB_val {
    @inline(__always)
    init(_ bytes: UnsafeRawBufferPointer) {
        self.init(
            mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }
}

extension UnsafeRawBufferPointer {
    @inline(__always)
    init(_ value: MDB_val) {
        self.init(start: value.mv_data, count: value.mv_size)
    }
}
