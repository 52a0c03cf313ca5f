package yamltree
import ("testing";"strings";"time";"fmt")
func TestZ(t *testing.T){
 for _,n:=range []int{10000,20000,40000} {
 s:=strings.Repeat("- a: b\n  c: d\n  e:\n    f: 1\n    g: 2\n",n)
 st:=time.Now(); _,err:=Parse("f",[]byte(s)); fmt.Println(n,time.Since(st),err)
 s=strings.Repeat("- a: b\n  c: d\n  e:\n    f: \n    g: \n",n)
 st=time.Now(); _,err=Parse("f",[]byte(s)); fmt.Println(n,time.Since(st),err)
 }
 for _,n:=range []int{2000,5000,10000,20000} {
 s:=strings.Repeat("a: b\n",n)
 st:=time.Now(); _,err:=Parse("f",[]byte(s)); fmt.Println(n,time.Since(st),err)
}
}
